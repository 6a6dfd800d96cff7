// What the model does: curves of its decisions and probabilities, or predicted numbers against true ones.

const UNIT = () => axisBetween(0, 1);

function drawPath({ pen, px, py }, points, colour, { dash = [], width = 2 } = {}) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dash);
  pen.beginPath();
  let down = false;
  for (const { x, y } of points) {
    if (y === null) down = false;
    else {
      pen[down ? "lineTo" : "moveTo"](px(x), py(y));
      down = true;
    }
  }
  pen.stroke();
  pen.setLineDash([]);
}

const pairs = ({ x, y }) => x.map((value, i) => ({ x: value, y: y[i] }));

/** Draw a curve with the point at which the model decides; Home goes to it. */
function withOperatingPoint(figure, curve, point, { xLabel, yLabel, ideal }) {
  const points = [...pairs(curve), { ...point, chosen: true }].sort((a, b) => a.x - b.x || a.y - b.y);
  drawChart(figure, {
    x: UNIT(), y: UNIT(), xLabel, yLabel, points,
    home: points.findIndex((p) => p.chosen),
    describe: (p) => [
      ...(p.chosen ? ["where the model decides"] : []),
      `${xLabel} = ${number(p.x)}`, `${yLabel} = ${number(p.y)}`].join("\n"),
    paint(chart) {
      drawPath(chart, ideal, chart.colours.quiet, { dash: [3, 4], width: 1 });
      drawPath(chart, pairs(curve), chart.colours.accent);
      drawChosen(chart, point);
    },
  });
}

function rocCurve(figure) {
  const { roc, point } = data.inspection;
  withOperatingPoint(figure, roc, { x: point.fpr, y: point.tpr }, {
    xLabel: "false-positive rate", yLabel: "true-positive rate", ideal: [{ x: 0, y: 0 }, { x: 1, y: 1 }],
  });
}

function precisionRecall(figure) {
  const { precision_recall: curve, point } = data.inspection;
  withOperatingPoint(figure, curve, { x: point.tpr, y: point.precision }, {
    xLabel: "recall", yLabel: "precision",
    ideal: [{ x: 0, y: point.positives }, { x: 1, y: point.positives }],
  });
}

function calibrationChart(figure) {
  const points = data.inspection.calibration.map((b) => ({ ...b, x: b.predicted, y: b.value }));
  drawChart(figure, {
    x: UNIT(), y: UNIT(), points, xLabel: "probability predicted", yLabel: "share that came true", home: 0,
    describe: (p) => [
      `predicted ${number(p.x)}, came true ${number(p.y)}`,
      `${number(p.low)} to ${number(p.high)}, ${number(p.events)} of ${number(p.cases)} rows`].join("\n"),
    paint(chart) {
      const { pen, colours: colour, px, py } = chart;
      drawPath(chart, [{ x: 0, y: 0 }, { x: 1, y: 1 }], colour.quiet, { dash: [3, 4], width: 1 });
      drawPath(chart, points, colour.accent, { width: 1.2 });
      for (const p of points) {
        drawPath(chart, [{ x: p.x, y: p.low }, { x: p.x, y: p.high }], colour.accent, { width: 1.6 });
        pen.fillStyle = colour.accent;
        pen.beginPath();
        pen.arc(px(p.x), py(p.y), 4, 0, 2 * Math.PI);
        pen.fill();
      }
    },
  });
}

/** Tell whether a value keeps to a bound. */
function holds({ sense, bound, tolerance }, value) {
  if (value === null) return false;
  if (sense === "==") return Math.abs(value - bound) <= tolerance;
  return sense === "<=" ? value <= bound : value >= bound;
}

/** Draw every metric of decisions over thresholds, with the bounds, and shade where all of them hold. */
function thresholdCurve(figure) {
  const { at, selected, series, chosen, kind } = data.inspection.thresholds;
  // At the ends everybody or nobody is chosen, and nothing is decided.
  const kept = at.flatMap((x, i) => (selected[i] > 0 && selected[i] < 1 ? [i] : []));
  if (!kept.length) return;
  const inside = kept.map((i) => series.every((s) => s.bounds.every((b) => holds(b, s.values[i]))));
  const points = kept.map((i, n) => ({ x: at[i], y: series[0].values[i] ?? 0, i, inside: inside[n] }));
  const nearest = (x) => points.reduce((best, p, n) => (Math.abs(p.x - x) < Math.abs(points[best].x - x) ? n : best), 0);
  const legend = figure.querySelector(".legend");
  series.forEach((s, n) => legend.append(legendItem(s.name, DASHES[n % DASHES.length], n)));
  const all = series.flatMap((s) => [...kept.map((i) => s.values[i]), ...s.bounds.map((b) => b.bound)]);
  const known = all.filter((v) => v !== null);
  const unit = known.every((v) => v >= 0 && v <= 1);
  const written = (s, i) => `${s.name} = ${number(s.values[i])}${
    s.bounds.map((b) => (holds(b, s.values[i]) ? ", holds" : ", broken")).join("")}`;
  drawChart(figure, {
    x: axisFor(points.map((p) => p.x), [chosen]), y: unit ? UNIT() : axisFor(known, known),
    points, xLabel: `threshold (${kind})`, yLabel: "value", reach: 40, home: nearest(chosen),
    describe: (p) => [
      `threshold ${number(p.x)}: ${number(100 * selected[p.i], 3)} % predicted positive`,
      ...series.map((s) => written(s, p.i)), p.inside ? "inside the fence" : "outside the fence"].join("\n"),
    paint(chart) {
      const { pen, frame, colours: colour, px, py } = chart;
      pen.fillStyle = colour["accent-soft"];
      points.forEach((p, n) => {
        if (!p.inside) return;
        const left = n ? (px(points[n - 1].x) + px(p.x)) / 2 : frame.left;
        const right = n + 1 < points.length ? (px(points[n + 1].x) + px(p.x)) / 2 : frame.right;
        pen.fillRect(left, frame.top, right - left, frame.bottom - frame.top);
      });
      series.forEach((s, n) => {
        const tone = n ? colour.ink : colour.accent;
        drawPath(chart, kept.map((i) => ({ x: at[i], y: s.values[i] })), tone, { dash: DASHES[n % DASHES.length] });
        for (const b of s.bounds) {
          drawPath(chart, [{ x: points[0].x, y: b.bound }, { x: points.at(-1).x, y: b.bound }], colour.quiet,
            { dash: DASHES[n % DASHES.length], width: 1 });
        }
      });
      pen.strokeStyle = colour.ink;
      pen.lineWidth = 1.4;
      line(pen, px(chosen), frame.top, px(chosen), frame.bottom);
    },
  });
}

function predictedTrue(figure) {
  const { predicted, true: truth } = data.inspection.numbers;
  const points = truth.map((x, i) => ({ x, y: predicted[i] })).sort((a, b) => a.x - b.x);
  const all = [...truth, ...predicted];
  const ends = [Math.min(...all), Math.max(...all)];
  const axis = () => axisBetween(...(ends[0] === ends[1] ? [ends[0] - 1, ends[1] + 1] : ends));
  drawChart(figure, {
    x: axis(), y: axis(), points, xLabel: "true", yLabel: "predicted", home: 0,
    describe: (p) => `true ${number(p.x)}, predicted ${number(p.y)}\nresidual ${number(p.x - p.y)}`,
    paint(chart) {
      const { pen, colours: colour, px, py } = chart;
      drawPath(chart, ends.map((v) => ({ x: v, y: v })), colour.quiet, { dash: [3, 4], width: 1 });
      pen.fillStyle = colour.accent;
      pen.globalAlpha = points.length > 200 ? 0.5 : 0.8;
      pen.beginPath();
      for (const p of points) {
        pen.moveTo(px(p.x) + 2.4, py(p.y));
        pen.arc(px(p.x), py(p.y), 2.4, 0, 2 * Math.PI);
      }
      pen.fill();
      pen.globalAlpha = 1;
    },
  });
}
