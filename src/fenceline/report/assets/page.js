// The leaderboard, the diagram's frame, the model card and printing; then everything is drawn.

function leaderboard(table) {
  const STEP = 100;
  const body = table.tBodies[0];
  const more = document.getElementById("leaders-more");
  const feasible = data.states.flatMap((state, index) => (state === FEASIBLE ? [index] : []));
  let shown = body.rows.length;
  let order = null;

  const columnOf = (metric) => data.metrics[data.constraints.findIndex((c) => c.metric === metric)];
  const buttons = [...table.tHead.querySelectorAll("button")];
  const metrics = buttons.filter((b) => b.dataset.key === "metric").map((b) => columnOf(b.dataset.metric));
  const keys = {
    objective: () => (i) => data.values[i],
    metric: (button) => (i) => columnOf(button.dataset.metric)[i],
    seconds: () => (i) => data.seconds[i],
    number: () => (i) => i,
    pipeline: () => pipeline,
  };

  function row(index) {
    const tr = document.createElement("tr");
    if (data.presented.includes(index)) tr.className = "chosen";
    const numbers = [data.values, ...metrics].map((column) => number(column[index]));
    for (const text of [...numbers, number(data.seconds[index], 3), index + 1]) {
      const cell = tr.insertCell();
      cell.className = "n";
      cell.textContent = text;
    }
    const cell = tr.insertCell();
    cell.className = "pipeline";
    cell.textContent = pipeline(index);
    return tr;
  }

  function render() {
    body.replaceChildren(...order.slice(0, shown).map(row));
    more.hidden = shown >= order.length;
    const count = Math.min(shown, order.length);
    document.getElementById("leaders-shown").textContent =
      `The first ${number(count)} of ${number(order.length)}.`;
  }

  function sort(button) {
    const header = button.closest("th");
    const descending = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const key = keys[button.dataset.key](button);
    const keyed = feasible.map((i) => [key(i), i]);
    keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    order = keyed.map(([, i]) => i);
    if (descending) order.reverse();
    render();
  }

  for (const button of buttons) button.addEventListener("click", () => sort(button));
  more.addEventListener("click", () => {
    const turn = data.larger ? -1 : 1;
    order ??= [...feasible].sort((a, b) => turn * (data.values[a] - data.values[b]));
    shown += STEP;
    render();
  });
}

/** Let the frame be as tall as the diagram in it, also when a reader unfolds a step. */
function fitFrame(frame) {
  const fit = () => {
    const inside = frame.contentDocument?.documentElement;
    if (inside) frame.style.height = `${inside.offsetHeight + 20}px`;
  };
  const watch = () => {
    fit();
    // A page in a frame of somebody else's may not look into its own.
    if (frame.contentDocument) new ResizeObserver(fit).observe(frame.contentDocument.documentElement);
  };
  if (frame.contentDocument?.readyState === "complete") watch();
  frame.addEventListener("load", watch);
}

function saveCard() {
  const answers = [...document.querySelectorAll("#card textarea")].map(
    (area) => `## ${area.dataset.label}\n\n${area.value.trim() || "Not stated."}\n`);
  const facts = [...document.querySelectorAll("#card-facts div")].map(
    (fact) => `## ${fact.querySelector("dt").textContent}\n\n${fact.querySelector("dd").textContent.trim()}\n`);
  const text = [`# ${document.querySelector("h1").textContent}\n`, ...answers, ...facts].join("\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/markdown" }));
  link.download = "model-card.md";
  link.click();
  URL.revokeObjectURL(link.href);
}

const folded = [];

/** Paper is white, narrow and cannot be unfolded: the page becomes so before the printer looks. */
function paper(on) {
  document.documentElement.toggleAttribute("data-paper", on);
  if (on) folded.push(...document.querySelectorAll("details:not([open])"));
  for (const details of on ? folded : folded.splice(0)) details.open = on;
  dispatchEvent(new Event("paper"));
}

const draw = {
  "trade-off": tradeOff,
  best: bestSoFar,
  roc: rocCurve,
  "precision-recall": precisionRecall,
  thresholds: thresholdCurve,
  calibration: calibrationChart,
  "predicted-true": predictedTrue,
  multipliers: (figure) => overIterations(figure, data.constraints.map((c, k) => (
    { name: c.text, values: data.iterations.multipliers[k] })), "multiplier"),
  residuals: (figure) => overIterations(figure, [
    { name: "primal: what the constraints still lack", values: data.iterations.primal },
    { name: "dual: how far the iterate moved", values: data.iterations.dual },
  ], "residual"),
};

/** Draw everything from what is written into the page; again if the page has been written anew. */
function start() {
  gone.abort();
  gone = new AbortController();
  readColumns();
  for (const figure of document.querySelectorAll("[data-chart]")) draw[figure.dataset.chart](figure);
  const leaders = document.getElementById("leaders");
  if (leaders) leaderboard(leaders);
  const fence = document.getElementById("what-if-form");
  if (fence) whatIf(fence);
  document.querySelectorAll("iframe").forEach(fitFrame);
  document.getElementById("card-save").addEventListener("click", saveCard);
}

addEventListener("beforeprint", () => paper(true));
addEventListener("afterprint", () => paper(false));
start();
