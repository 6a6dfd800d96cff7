// Sliders on the bounds: the best measured pipeline inside the moved fence, from options written into the page.

/** Return the first, that is the best, option for which something is true. */
const firstOption = (wanted) => {
  for (let i = 0; i < data.options.at.length; i++) if (wanted(i)) return i;
  return -1;
};

/** Return the best option inside some bounds, and how much better it would be without each constraint. */
function bestInside(bounds) {
  const moved = data.constraints.map((c, k) => ({ ...c, bound: bounds[k] }));
  const inside = (i, without = -1) =>
    moved.every((c, k) => k === without || holds(c, data.options.values[k][i]));
  const best = firstOption((i) => inside(i));
  const value = best < 0 ? null : data.options.objective[best];
  const costs = moved.map((_, k) => {
    const other = firstOption((i) => inside(i, k));
    if (other < 0) return 0;
    return best < 0 ? Infinity : Math.abs(data.options.objective[other] - value);
  });
  return { best, value, costs };
}

/** Let a slider run over the values that were measured, with the bound of the search on one of its steps. */
function steps(constraint, values) {
  const known = [...values].sort((a, b) => a - b);
  const at = (share) => known[Math.round(share * (known.length - 1))];
  let [low, high] = [at(0.01), at(0.99)];
  const { bound } = constraint;
  [low, high] = [Math.min(low, bound), Math.max(high, bound)];
  if (low === high) [low, high] = [low - (Math.abs(low) || 1), high + (Math.abs(high) || 1)];
  const log = low > 0 && high / low > 100;
  const [to, from] = log ? [Math.log, Math.exp] : [(v) => v, (v) => v];
  const home = Math.round((1000 * (to(bound) - to(low))) / (to(high) - to(low)));
  const value = (step) => (step === home ? bound : +from(to(low) + (step / 1000) * (to(high) - to(low))).toPrecision(3));
  return { home, value };
}

function whatIf(form) {
  const sliders = [...form.querySelectorAll("input[type=range]")];
  const scales = sliders.map((_, k) => steps(data.constraints[k], data.options.values[k]));
  const show = (id, text) => { document.getElementById(id).textContent = text; };

  function update() {
    const bounds = sliders.map((slider, k) => scales[k].value(Number(slider.value)));
    bounds.forEach((bound, k) => show(`bound-${k}-shown`, number(bound)));
    const { best, value, costs } = bestInside(bounds);
    const most = costs.reduce((top, cost, k) => (cost > costs[top] ? k : top), 0);
    const verb = data.larger ? "higher" : "lower";
    form.dispatchEvent(new CustomEvent("answered", { detail: { bounds, best, value, costs } }));
    show("what-if-value", best < 0 ? "nothing inside" : number(value));
    show("what-if-presses", !(costs[most] > 0) ? "nothing" : costs[most] === Infinity
      ? `${data.constraints[most].metric}: without it something is inside`
      : `${data.constraints[most].metric}: ${number(costs[most], 2)} ${verb} without it`);
    const odds = best < 0 ? null : data.options.log_odds[best];
    const threshold = odds === null ? "" : `, by the folds at probability ${number(1 / (1 + Math.exp(-odds)), 3)}`;
    show("what-if-pipeline", best < 0 ? "Nothing that was measured keeps to all of these bounds."
      : `${pipeline(data.options.at[best])}${threshold}`);
    document.getElementById("what-if-metrics").replaceChildren(...(best < 0 ? [] : data.constraints.map((c, k) => {
      const item = document.createElement("li");
      item.textContent = `${c.metric} = ${number(data.options.values[k][best])}`;
      return item;
    })));
  }

  sliders.forEach((slider, k) => {
    slider.defaultValue = String(scales[k].home);
    slider.value = slider.defaultValue;
    slider.addEventListener("input", update);
  });
  // A reset comes before the sliders have moved.
  form.addEventListener("reset", () => setTimeout(update));
  update();
}
