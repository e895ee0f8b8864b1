(() => {
  // A link to something inside of folds opens them.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    if (target.tagName === "DETAILS") target.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // Every mention of a task or chain is marked while the pointer or the keyboard is on one of them.
  const mentions = new Map();
  for (const kind of ["task", "chain"])
    for (const one of document.querySelectorAll(`[data-${kind}]`)) {
      const key = `${kind}:${one.dataset[kind]}`;
      if (!mentions.has(key)) mentions.set(key, []);
      mentions.get(key).push(one);
    }
  const keyOf = (node) => {
    const one = node instanceof Element && node.closest("[data-task], [data-chain]");
    return one ? (one.dataset.task !== undefined ? `task:${one.dataset.task}` : `chain:${one.dataset.chain}`) : null;
  };
  let marked = null;
  const mark = (key) => {
    if (key === marked) return;
    for (const one of mentions.get(marked) ?? []) one.classList.remove("linked");
    for (const one of mentions.get(key) ?? []) one.classList.add("linked");
    marked = key;
  };
  document.addEventListener("pointerover", (event) => mark(keyOf(event.target)));
  document.addEventListener("focusin", (event) => mark(keyOf(event.target)));
})();
