// The plots of the report, drawn from the columns of all evaluations.

let data = null;
const FEASIBLE = 0;
const FAILED = 2;
const WORDS = ["inside the fence", "breaks a constraint", "failed"];

/** Read the columns that are written into the page. */
function readColumns() {
  data = JSON.parse(document.getElementById("columns").textContent);
  for (const module of data.modules) {
    // For every evaluation, its place among those that have written out the same algorithm's values.
    const seen = module.algorithms.map(() => 0);
    module.places = module.codes.map((code, i) => (!data.detailed || data.detailed[i] ? seen[code]++ : -1));
  }
}

/** Tell whether one value of the objective is better than another, in its own direction. */
const better = (a, b) => (data.larger ? a > b : a < b);

/** Return an evaluation's pipeline in words. */
function pipeline(index) {
  return data.modules.map((module) => {
    const { name, params } = module.algorithms[module.codes[index]];
    const place = module.places[index];
    const given = place < 0 ? [] : Object.entries(params).map(([key, values]) => {
      const value = Array.isArray(values) ? values[place] : values.levels[values.codes[place]];
      return `${key}=${value}`;
    });
    return given.length ? `${name}(${given.join(", ")})` : name;
  }).join(" → ");
}

/** Return what the tip says of an evaluation. */
function evaluationText({ index }) {
  const values = data.constraints.map((c, k) => `${c.metric} = ${number(data.metrics[k][index])}`);
  return [
    pipeline(index),
    `${data.objective} = ${number(data.values[index])}`,
    ...new Set(values),
    `${WORDS[data.states[index]]}, evaluation ${index + 1}`,
  ].join("\n");
}

function tradeOff(figure) {
  const k = Number(figure.dataset.constraint);
  const constraint = data.constraints[k];
  const points = data.states.flatMap((state, index) =>
    state === FAILED ? [] : [{ x: data.metrics[k][index], y: data.values[index], index }]);
  points.sort((a, b) => a.x - b.x || a.y - b.y);
  const fences = constraint.sense === "=="
    ? [constraint.bound - constraint.tolerance, constraint.bound + constraint.tolerance]
    : [constraint.bound];
  const chosen = points.filter((p) => data.presented.includes(p.index));
  const front = data.fronts[k].map((i) => ({ x: data.metrics[k][i], y: data.values[i] }));
  const x = axisFor(points.map((p) => p.x), [...fences, ...chosen.map((p) => p.x)]);
  const y = axisFor(points.map((p) => p.y), [...chosen, ...front].map((p) => p.y), data.larger);
  noteEdge(figure, points.filter((p) => x.beyond(p.x) || y.beyond(p.y)).length);
  drawChart(figure, {
    x, y, points, xLabel: constraint.metric, yLabel: data.objective,
    home: Math.max(0, points.indexOf(chosen[0])),
    describe: evaluationText,
    paint(chart) {
      fences.forEach((bound, i) =>
        drawFence(chart, bound, constraint.sense === ">=" || (fences.length === 2 && i === 0) ? -1 : 1));
      drawPoints(chart, points);
      drawSteps(chart, front, constraint.sense);
      for (const point of chosen) drawChosen(chart, point);
    },
  });
}

function noteEdge(figure, count) {
  const note = figure.querySelector(".edge-note");
  note.hidden = !count;
  note.textContent = `${number(count)} far-away ${count === 1 ? "point is" : "points are"} drawn on the edge.`;
}

/** Draw a bound: a post with rails that point outside, so that the side shows without colour. */
function drawFence({ pen, frame, colours: colour, px }, bound, outside) {
  const x = px(bound);
  pen.strokeStyle = colour.ink;
  pen.lineWidth = 1.8;
  line(pen, x, frame.top, x, frame.bottom);
  pen.lineWidth = 1;
  for (let y = frame.top + 8; y < frame.bottom; y += 14) line(pen, x, y, x + 7 * outside, y - 5);
}

function drawPoints({ pen, colours: colour, px, py }, points) {
  const many = points.length > 2000;
  const size = many ? 1.8 : points.length > 300 ? 2.6 : 3.6;
  pen.globalAlpha = many ? 0.45 : 0.8;
  pen.strokeStyle = colour.quiet;
  pen.lineWidth = many ? 0.8 : 1.2;
  pen.beginPath();
  for (const p of points) {
    if (data.states[p.index] === FEASIBLE) continue;
    const [x, y] = [px(p.x), py(p.y)];
    pen.moveTo(x - size, y - size);
    pen.lineTo(x + size, y + size);
    pen.moveTo(x + size, y - size);
    pen.lineTo(x - size, y + size);
  }
  pen.stroke();
  pen.fillStyle = colour.accent;
  pen.beginPath();
  for (const p of points) {
    if (data.states[p.index] !== FEASIBLE) continue;
    const [x, y] = [px(p.x), py(p.y)];
    pen.moveTo(x + size, y);
    pen.arc(x, y, size, 0, 2 * Math.PI);
  }
  pen.fill();
  pen.globalAlpha = 1;
}

/** Draw a curve that stays level until something better comes. */
function drawSteps({ pen, colours: colour, frame, px, py }, points, sense = "<=") {
  if (!points.length) return;
  pen.strokeStyle = colour.accent;
  pen.lineWidth = 2;
  pen.beginPath();
  points.forEach((p, i) => {
    if (i) pen.lineTo(px(p.x), py(points[i - 1].y));
    pen[i ? "lineTo" : "moveTo"](px(p.x), py(p.y));
  });
  pen.lineTo(sense === ">=" ? frame.left : frame.right, py(points.at(-1).y));
  pen.stroke();
}

function drawChosen({ pen, colours: colour, px, py }, { x, y }) {
  pen.lineWidth = 1.8;
  pen.strokeStyle = colour.ink;
  pen.beginPath();
  pen.arc(px(x), py(y), 7, 0, 2 * Math.PI);
  pen.stroke();
}

function bestSoFar(figure) {
  const points = [];
  data.values.forEach((value, index) => {
    if (data.states[index] === FEASIBLE && (!points.length || better(value, points.at(-1).y)))
      points.push({ x: index + 1, y: value, index });
  });
  const y = axisFor(points.map((p) => p.y), [points.at(-1).y], data.larger);
  noteEdge(figure, points.filter((p) => y.beyond(p.y)).length);
  drawChart(figure, {
    x: axisFor([1, data.values.length]), y, points, xLabel: "evaluations", yLabel: data.objective,
    home: points.length - 1, reach: 30,
    describe: evaluationText,
    paint(chart) {
      drawSteps(chart, points);
      drawPoints(chart, points);
    },
  });
}

const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 4]];

/** Draw lines over the iterations, told apart by dashes and named in a legend. */
function overIterations(figure, series, label) {
  const { evaluations } = data.iterations;
  const shown = series.filter((s) => s.values);
  const points = evaluations.map((x, i) => ({ x, y: shown[0].values[i] ?? 0, i }));
  const all = shown.flatMap((s) => s.values);
  const y = axisFor(all, [Math.max(...all), Math.min(...all)]);
  const legend = figure.querySelector(".legend");
  shown.forEach((s, i) => legend.append(legendItem(s.name, DASHES[i % DASHES.length], i)));
  drawChart(figure, {
    x: axisFor(evaluations), y, points, xLabel: "evaluations", yLabel: label, reach: 40,
    home: points.length - 1,
    describe: ({ x, i }) =>
      [`after ${x} evaluations`, ...shown.map((s) => `${s.name}: ${number(s.values[i])}`)].join("\n"),
    paint({ pen, colours: colour, px, py }) {
      shown.forEach((s, n) => {
        pen.strokeStyle = n ? colour.ink : colour.accent;
        pen.lineWidth = 1.8;
        pen.setLineDash(DASHES[n % DASHES.length]);
        pen.beginPath();
        s.values.forEach((v, i) => v !== null && pen.lineTo(px(evaluations[i]), py(v)));
        pen.stroke();
      });
      pen.setLineDash([]);
    },
  });
}

function legendItem(name, dash, n) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const path = svg.appendChild(document.createElementNS(space, "path"));
  path.setAttribute("d", "M0 5h34");
  path.setAttribute("stroke", n ? "var(--ink)" : "var(--accent)");
  path.setAttribute("stroke-width", "2");
  path.setAttribute("stroke-dasharray", dash.join(" "));
  svg.setAttribute("aria-hidden", "true");
  const item = document.createElement("li");
  item.append(svg, name);
  return item;
}
