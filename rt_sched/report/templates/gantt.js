"use strict";
for (const chart of document.querySelectorAll("svg.schedule")) {
  const MOST = 4096;
  const canvas = chart.querySelector(".canvas"), axis = chart.querySelector(".times");
  const start = Number(chart.dataset.start), span = Number(chart.dataset.end) - start;
  const alone = document.documentElement === chart;
  const frame = chart.closest("[data-chart]"), told = frame && frame.querySelector("output.pointed");
  let zoom = 1, left = 0;

  // The window has a margin of 0.5 % on either side.
  const width = () => 0.99 * chart.getBoundingClientRect().width || 1;
  const shareAt = (x) => (x - chart.getBoundingClientRect().left) / width() - 0.005;

  function ticks(begin, length) {
    const raw = length / Math.max(2, Math.min(10, width() / 90));
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = Math.max(1, power * [1, 2, 5, 10].find((factor) => power * factor >= raw * (1 - 1e-9)));
    const values = [];
    for (let value = Math.ceil(begin / step - 1e-9) * step; value <= begin + length; value += step) values.push(value);
    return [values, step];
  }

  function add(parent, name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
  }

  function draw() {
    zoom = Math.min(Math.max(zoom, 1), MOST);
    left = Math.min(Math.max(left, 0), 1 - 1 / zoom);
    canvas.setAttribute("width", `${zoom * 100}%`);
    canvas.setAttribute("x", `${-left * zoom * 100}%`);
    chart.classList.toggle("closer", zoom > 1);
    // Labels are fitted to a window of 900 px.
    const room = (zoom * width()) / 900;
    for (const level of [1, 2, 4, 8, 16, 32]) chart.classList.toggle(`zoom-${level}`, room >= level);
    const begin = start + left * span, length = span / zoom;
    const [values, step] = ticks(begin, length);
    const [unit, size] = span >= 2e9 ? ["s", 1e9] : ["ms", 1e6];
    const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
    axis.replaceChildren();
    values.forEach((value, place) => {
      const at = `${(((value - begin) / length) * 100).toFixed(4)}%`, share = (value - begin) / length;
      const anchor = share < 0.03 ? "start" : share > 0.95 ? "end" : "middle";
      const words = (value / size).toFixed(digits) + (place === values.length - 1 ? `\u00a0${unit}` : "");
      add(axis, "line", { x1: at, x2: at, y1: 18, y2: canvas.getAttribute("height"), class: "grid" });
      add(axis, "text", { x: at, y: 12, class: "tick", "text-anchor": anchor }, words);
    });
    const shown = frame && frame.querySelector(".zoom output");
    if (shown) shown.textContent = `${zoom < 10 ? Math.round(zoom * 10) / 10 : Math.round(zoom)}×`;
  }

  function enlarge(factor, share = 0.5) {
    const fixed = left + share / zoom;
    zoom = Math.min(Math.max(zoom * factor, 1), MOST);
    left = fixed - share / zoom;
    draw();
  }

  function move(share) {
    left += share / zoom;
    draw();
  }

  chart.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.ctrlKey || event.metaKey || (alone && !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX))) {
      enlarge(2 ** (-event.deltaY / 200), shareAt(event.clientX));
    } else if (sideways && zoom > 1) {
      move(sideways / width());
    } else {
      return;
    }
    event.preventDefault();
  }, { passive: false });

  const held = new Map();
  let apart = 0, travelled = 0;
  const xs = () => [...held.values()];
  chart.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    held.set(event.pointerId, event.clientX);
    travelled = held.size > 1 ? Infinity : 0;
    apart = held.size === 2 ? Math.abs(xs()[0] - xs()[1]) : 0;
  });
  chart.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return;
    const before = held.get(event.pointerId);
    held.set(event.pointerId, event.clientX);
    travelled += Math.abs(event.clientX - before);
    if (held.size === 2) {
      const now = Math.max(Math.abs(xs()[0] - xs()[1]), 1);
      if (apart) enlarge(now / apart, shareAt((xs()[0] + xs()[1]) / 2));
      apart = now;
    } else if (travelled > 4) {
      chart.classList.add("moved");
      if (!chart.hasPointerCapture(event.pointerId)) chart.setPointerCapture(event.pointerId);
      move((before - event.clientX) / width());
    }
  });
  function release(event) {
    held.delete(event.pointerId);
    chart.classList.remove("moved");
    const named = travelled <= 4 && event.target.querySelector && event.target.querySelector(":scope > title");
    if (told && event.type === "pointerup" && named) told.textContent = named.textContent;
  }
  chart.addEventListener("pointerup", release);
  chart.addEventListener("pointercancel", release);
  chart.addEventListener("dblclick", (event) => enlarge(event.shiftKey ? 0.5 : 2, shareAt(event.clientX)));

  const KEYS = {
    "+": () => enlarge(2), "=": () => enlarge(2), "-": () => enlarge(0.5), "0": () => enlarge(0),
    ArrowLeft: () => move(-0.1), ArrowRight: () => move(0.1), PageUp: () => move(-0.9), PageDown: () => move(0.9),
    Home: () => move(-Infinity), End: () => move(zoom),
  };
  chart.addEventListener("keydown", (event) => {
    const act = !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  if (frame) {
    const controls = frame.querySelector(".zoom");
    controls.hidden = false;
    for (const button of controls.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => enlarge(Number(button.dataset.zoom)));
    }
    addEventListener("beforeprint", () => enlarge(0));
  }
  addEventListener("resize", draw);
  chart.classList.add("live");
  if (frame) frame.classList.add("live");
  draw();
}
