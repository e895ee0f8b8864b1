"use strict";
(() => {
  const number = (cell) => (cell.dataset.v === undefined ? null : Number(cell.dataset.v));
  const compare = (a, b) => {
    const x = number(a), y = number(b);
    return x !== null && y !== null ? x - y : a.textContent.localeCompare(b.textContent, "en", { numeric: true });
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const numeric = table.tBodies[0].rows[0]?.cells[column].dataset.v !== undefined;
        const before = head.getAttribute("aria-sort");
        const down = before ? before === "ascending" : numeric;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (down ? -1 : 1) * compare(a.cells[column], b.cells[column]));
        table.tBodies[0].append(...rows);
      });
    });
  }

  for (const table of document.querySelectorAll("table.filtered")) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 8) continue;
    const bar = document.createElement("div");
    bar.className = "filter";
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = `Filter ${table.dataset.noun}`;
    input.setAttribute("aria-label", input.placeholder);
    const shown = document.createElement("output");
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let visible = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        visible += row.hidden ? 0 : 1;
      }
      shown.textContent = words.length ? `${visible} of ${rows.length}` : `${rows.length} ${table.dataset.noun}`;
    };
    input.addEventListener("input", apply);
    bar.append(input, shown);
    table.parentElement.before(bar);
    apply();
  }

  const zoomBar = document.querySelector(".zoom");
  if (zoomBar) {
    const scroll = document.querySelector(".gantt-scroll");
    const canvas = scroll.firstElementChild;
    const most = 5;
    let level = 0;
    const show = (next) => {
      const middle = (scroll.scrollLeft + scroll.clientWidth / 2) / canvas.clientWidth;
      level = Math.min(Math.max(next, 0), most);
      canvas.style.width = level ? `${100 * 2 ** level}%` : "";
      canvas.className = `gantt-canvas zoom-${2 ** level}`;
      zoomBar.querySelector("output").textContent = `${2 ** level}×`;
      scroll.scrollLeft = middle * canvas.clientWidth - scroll.clientWidth / 2;
    };
    zoomBar.hidden = false;
    zoomBar.addEventListener("click", (event) => {
      const step = event.target.dataset.zoom;
      if (step !== undefined) show(Number(step) ? level + Number(step) : 0);
    });
    scroll.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "+" || event.key === "=") show(level + 1);
      else if (event.key === "-") show(level - 1);
      else if (event.key === "0") show(0);
    });
  }

  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
  });
})();
