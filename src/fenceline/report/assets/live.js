// Only in a page that is served while a run goes on: draw it anew when the run has gone on.

/** Keep what the reader has moved, written or unfolded. */
function kept() {
  const fields = [...document.querySelectorAll("main input[id], main textarea[id]")].filter((f) => f.value !== f.defaultValue);
  const values = fields.map((f) => [f.id, f.value]);
  const open = [...document.querySelectorAll("main details")].map((d) => d.open);
  return () => {
    [...document.querySelectorAll("main details")].forEach((d, i) => { d.open = open[i] ?? d.open; });
    for (const [id, value] of values) {
      const field = document.getElementById(id);
      if (!field) continue;
      field.value = value;
      field.dispatchEvent(new Event("input"));
    }
  };
}

async function refresh() {
  const answer = await fetch("./", { cache: "no-store" });
  if (!answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  const restore = kept();
  for (const part of ["h1", "header nav", "header .quiet", "main", "#columns"]) {
    document.querySelector(part).replaceWith(next.querySelector(part));
  }
  document.title = next.title;
  start();
  restore();
}

new EventSource("events").addEventListener("changed", () => refresh().catch(() => {}));
