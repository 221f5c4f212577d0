"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const charts = document.getElementById("charts");
  const said = document.getElementById("said");
  if (!data.times.length) return;
  const cursors = charts.querySelectorAll(".cursor");
  const outputs = new Map([...charts.querySelectorAll("output[data-curve]")].map((o) => [o.dataset.curve, o]));
  let point = -1;

  const x = (at) => data.left + (at / data.end) * (data.right - data.left);
  const clock = (at) => {
    const s = Math.floor(at), two = (n) => String(n).padStart(2, "0");
    return s < 3600 ? `${two(Math.floor(s / 60))}:${two(s % 60)}`
      : `${Math.floor(s / 3600)}:${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
  };
  const number = (value) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    return value.toFixed(size >= 100 || value === Math.round(value) ? 0 : size >= 1 ? 1 : 2);
  };
  const nearest = (at) => {
    let low = 0, high = data.times.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (data.times[middle] < at) low = middle + 1; else high = middle;
    }
    return low > 0 && at - data.times[low - 1] < data.times[low] - at ? low - 1 : low;
  };
  const show = (next) => {
    point = Math.max(0, Math.min(data.times.length - 1, next));
    const at = data.times[point];
    for (const line of cursors) {
      line.setAttribute("x1", x(at));
      line.setAttribute("x2", x(at));
      line.style.visibility = "visible";
    }
    for (const [name, output] of outputs) output.textContent = number(data.curves[name][point]);
    const span = data.spans.find((s) => at > s.from && at <= s.to) || data.spans.find((s) => at >= s.from && at <= s.to);
    const marks = data.marks.filter((m) => nearest(m.at) === point).map((m) => `“${m.text}”`);
    said.textContent = [clock(at), span ? span.name : "", ...marks].filter(Boolean).join("  ·  ");
    charts.setAttribute("aria-valuenow", at.toFixed(1));
    charts.setAttribute("aria-valuetext", said.textContent);
  };
  const hide = () => {
    point = -1;
    for (const line of cursors) line.style.visibility = "hidden";
    for (const output of outputs.values()) output.textContent = "";
    said.textContent = said.dataset.help;
  };
  const after = (times, step) => {
    const here = point < 0 ? (step > 0 ? -1 : Infinity) : point;
    const points = [...new Set(times.map(nearest))].sort((a, b) => a - b);
    const found = step > 0 ? points.find((p) => p > here) : points.reverse().find((p) => p < here);
    if (found !== undefined) show(found);
  };
  const from = (event) => {
    const svg = event.target.closest("svg");
    if (!svg) return;
    const box = svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * data.width;
    show(nearest(((place - data.left) / (data.right - data.left)) * data.end));
  };
  charts.addEventListener("pointermove", from);
  charts.addEventListener("pointerdown", from);
  charts.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = data.times.length - 1, far = Math.max(10, Math.round(last / 20));
    const changes = data.spans.slice(1).map((s) => s.from), marks = data.marks.map((m) => m.at);
    const keys = {
      ArrowRight: () => show(point + 1), ArrowLeft: () => show(point < 0 ? last : point - 1),
      PageDown: () => show(point + far), PageUp: () => show(point < 0 ? last : point - far),
      Home: () => show(0), End: () => show(last), Escape: hide,
      v: () => after(changes, 1), V: () => after(changes, -1), m: () => after(marks, 1), M: () => after(marks, -1),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  said.dataset.help = said.textContent;
  // A link to a moment: report.html#at=42
  const jump = () => {
    const found = /^#at=([0-9.]+)$/.exec(location.hash);
    if (found) show(nearest(Number(found[1])));
  };
  addEventListener("hashchange", jump);
  jump();
})();
