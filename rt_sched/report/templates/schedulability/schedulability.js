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

  // Every section can be linked to.
  for (const head of document.querySelectorAll("section[id] > h2")) {
    const here = document.createElement("a");
    here.className = "here";
    here.href = `#${head.parentElement.id}`;
    here.textContent = "#";
    here.setAttribute("aria-label", `Link to ${head.textContent}`);
    head.append(here);
  }

  // Every mention of a task or chain is marked while the pointer or the keyboard is on one of them.
  const mentions = new Map();
  const kinds = ["task", "chain", "sensor"];
  for (const kind of kinds)
    for (const one of document.querySelectorAll(`[data-${kind}]`)) {
      const key = `${kind}:${one.dataset[kind]}`;
      if (!mentions.has(key)) mentions.set(key, []);
      mentions.get(key).push(one);
    }
  const keyOf = (node) => {
    const one = node instanceof Element && node.closest(kinds.map((kind) => `[data-${kind}]`).join());
    const kind = one && kinds.find((word) => one.dataset[word] !== undefined);
    return kind ? `${kind}:${one.dataset[kind]}` : null;
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

  // What the row of a box or chain says, below the graph while the pointer or the keyboard is on it.
  const graph = document.querySelector(".system-graph");
  const panel = document.querySelector(".graph-detail");
  const describe = (event) => {
    const link = event.target instanceof Element && event.target.closest("a");
    const row = link && document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)));
    if (!row || row.tagName !== "TR") return;
    const heads = row.closest("table").tHead.rows[0].cells;
    const parts = [...row.cells].map((cell, index) => {
      const part = document.createElement("div");
      const term = document.createElement("dt");
      const text = document.createElement("dd");
      term.textContent = heads[index].textContent;
      text.textContent = cell.innerText;
      part.append(term, text);
      return part;
    });
    panel.replaceChildren(...parts);
    panel.hidden = false;
  };
  graph.addEventListener("pointerover", describe);
  graph.addEventListener("focusin", describe);
})();
