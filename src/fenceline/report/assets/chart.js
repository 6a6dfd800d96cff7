"use strict";
// A canvas as sharp as the screen, with two axes, a still layer, and one point that can be pointed at.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colours = () =>
  Object.fromEntries(["paper", "ink", "quiet", "rule", "accent", "accent-soft", "amber"].map((n) => [n, style(`--${n}`)]));

/** Pixels of a canvas to one of the page; printers have more of them than screens. */
const sharpness = () =>
  Math.max(window.devicePixelRatio || 1, document.documentElement.hasAttribute("data-paper") ? 3 : 1);

/** Write a number for people. */
function number(value, digits = 4) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-4)) return value.toExponential(Math.max(0, digits - 2));
  return size >= 1e4 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(digits));
}

/** Ends when the page is drawn anew, and with it what listens for the charts that were there. */
let gone = new AbortController();

/**
 * Choose an axis that shows `must` in full and most of `values`.
 *
 * A few values far away would squeeze all others into a corner; they are drawn on the edge instead.
 * More of them may lie at the end that is worse, which is the high one unless `larger` is better.
 */
function axisFor(values, must = [], larger = false) {
  const known = values.filter((v) => v !== null).sort((a, b) => a - b);
  const at = (share) => known[Math.round(share * (known.length - 1))];
  const needed = must.filter((v) => v !== null && Number.isFinite(v));
  const span = (low, high) => [Math.min(low, ...needed), Math.max(high, ...needed)];
  let [low, high] = span(at(0), at(1));
  const log = low > 0 && high / low > 100;
  const [innerLow, innerHigh] = larger ? span(at(0.04), at(0.98)) : span(at(0.02), at(0.96));
  const reach = (a, b) => (log ? Math.log(b / a) : b - a);
  if (reach(low, high) > 2.5 * reach(innerLow, innerHigh) && innerHigh > innerLow) [low, high] = [innerLow, innerHigh];
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) * 0.05, high + (Math.abs(high) || 1) * 0.05];
  return axisBetween(low, high, log);
}

/** Return an axis from one value to another, with a little room beyond both. */
function axisBetween(low, high, log = false) {
  const to = log ? Math.log : (v) => v;
  const room = (to(high) - to(low)) * 0.06;
  const [start, end] = [to(low) - room, to(high) + room];
  // 0 is the left or lower end of the plot, 1 the other; beyond them lies the edge.
  const place = (v) => Math.min(1, Math.max(0, (to(v) - start) / (end - start)));
  const beyond = (v) => to(v) < start || to(v) > end;
  return { place, beyond, ticks: log ? logTicks(start, end) : evenTicks(start, end) };
}

function evenTicks(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(+(i * step).toPrecision(12));
  return ticks;
}

function logTicks(low, high) {
  const decades = (high - low) / Math.LN10;
  const within = decades > 4 ? [1] : decades > 2 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let d = Math.floor(low / Math.LN10); d <= high / Math.LN10; d++) {
    for (const m of within) {
      const value = +(m * 10 ** d).toPrecision(3);
      if (Math.log(value) >= low && Math.log(value) <= high) ticks.push(value);
    }
  }
  return ticks;
}

/**
 * Draw a plot in a figure and let readers point at its points.
 *
 * spec: x, y (axes), xLabel, yLabel, points ([{x, y, ...}] in the order of the arrow keys),
 * home (which point the Home key goes to), paint(chart), describe(point) -> text.
 */
function drawChart(figure, spec) {
  const canvas = figure.querySelector("canvas");
  const context = canvas.getContext("2d");
  const still = document.createElement("canvas");
  const tip = figure.appendChild(document.createElement("div"));
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  let chart = null;
  let current = -1;

  function draw() {
    const { width, height } = canvas.getBoundingClientRect();
    if (!width) return;
    const ratio = sharpness();
    for (const c of [canvas, still]) {
      c.width = Math.round(width * ratio);
      c.height = Math.round(height * ratio);
    }
    const pen = still.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "12px system-ui, sans-serif";
    const labels = spec.y.ticks.map((t) => number(t));
    const left = Math.ceil(Math.max(...labels.map((l) => pen.measureText(l).width), 20)) + 12;
    const frame = { left, top: 24, right: width - 12, bottom: height - 40 };
    chart = {
      pen, frame, colours: colours(), spec,
      px: (v) => frame.left + spec.x.place(v) * (frame.right - frame.left),
      py: (v) => frame.bottom - spec.y.place(v) * (frame.bottom - frame.top),
    };
    drawAxes(chart);
    spec.paint(chart);
    show(current);
  }

  function show(index) {
    current = index;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(still, 0, 0);
    const point = spec.points[index];
    tip.hidden = !point;
    if (!point) return;
    const ratio = sharpness();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [x, y] = [chart.px(point.x), chart.py(point.y)];
    context.lineWidth = 2;
    context.strokeStyle = chart.colours.ink;
    context.beginPath();
    context.arc(x, y, 8, 0, 2 * Math.PI);
    context.stroke();
    tip.textContent = spec.describe(point);
    const room = figure.clientWidth - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(room, x - tip.offsetWidth / 2))}px`;
    const above = canvas.offsetTop + y - tip.offsetHeight - 14;
    tip.style.top = `${above > 0 ? above : canvas.offsetTop + y + 14}px`;
  }

  function nearest(event) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [best, found] = [spec.reach ?? 24 * 24, -1];
    spec.points.forEach((point, i) => {
      const across = chart.px(point.x) - x;
      const distance = spec.reach ? Math.abs(across) : across ** 2 + (chart.py(point.y) - y) ** 2;
      if (distance < best) [best, found] = [distance, i];
    });
    return found;
  }

  function key(event) {
    const last = spec.points.length - 1;
    const leap = Math.max(2, Math.round(last / 20));
    const start = current < 0 ? spec.home ?? 0 : current;
    const moves = {
      ArrowRight: start + 1, ArrowLeft: start - 1, ArrowUp: start + 1, ArrowDown: start - 1,
      PageUp: start + leap, PageDown: start - leap, Home: spec.home ?? 0, End: last,
    };
    if (event.key === "Escape") return show(-1);
    if (!(event.key in moves) || last < 0) return undefined;
    event.preventDefault();
    return show(Math.max(0, Math.min(last, moves[event.key])));
  }

  canvas.addEventListener("pointermove", (event) => show(nearest(event)));
  canvas.addEventListener("pointerdown", (event) => show(nearest(event)));
  canvas.addEventListener("pointerleave", () => show(-1));
  canvas.addEventListener("focus", () => {
    // A click brings the focus, too, and has already chosen its point.
    if (canvas.matches(":focus-visible")) show(spec.points.length ? spec.home ?? 0 : -1);
  });
  canvas.addEventListener("blur", () => show(-1));
  canvas.addEventListener("keydown", key);
  new ResizeObserver(draw).observe(canvas);
  const { signal } = gone;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal });
  addEventListener("paper", draw, { signal });
}

function drawAxes({ pen, frame, colours: colour, spec, px, py }) {
  pen.lineWidth = 1;
  pen.strokeStyle = colour.rule;
  pen.fillStyle = colour.quiet;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const tick of spec.y.ticks) {
    line(pen, frame.left, py(tick), frame.right, py(tick));
    pen.fillText(number(tick), frame.left - 8, py(tick));
  }
  pen.textAlign = "center";
  let free = -Infinity;
  for (const tick of spec.x.ticks) {
    const half = pen.measureText(number(tick)).width / 2;
    const at = px(tick);
    if (at - half < free || at + half > frame.right + 12) continue;
    pen.fillText(number(tick), at, frame.bottom + 14);
    free = at + half + 8;
  }
  pen.strokeStyle = colour.quiet;
  line(pen, frame.left, frame.bottom, frame.right, frame.bottom);
  const wide = frame.right - frame.left;
  pen.textAlign = "left";
  pen.fillText(clip(pen, spec.yLabel, wide + frame.left), 0, 8);
  pen.textAlign = "right";
  pen.fillText(clip(pen, spec.xLabel, wide), frame.right, frame.bottom + 31);
}

function clip(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let kept = text;
  while (kept && pen.measureText(`${kept}…`).width > room) kept = kept.slice(0, -1);
  return `${kept}…`;
}

function line(pen, x1, y1, x2, y2) {
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}
