// Samples, and what is reported of them.
const sorted = (values) => [...values].sort((one, other) => one - other);

/** Nearest rank. */
export function quantile(values, share) {
  const all = sorted(values);
  return all[Math.min(all.length - 1, Math.max(0, Math.ceil(all.length * share) - 1))] ?? 0;
}
export const median = (values) => quantile(values, 0.5);

export function add(told, key, value, what = "") {
  told.figures.push({ key, value: Number(value.toFixed(2)), what });
}

/** Milliseconds of a processor that the page's thread has had so far; other programs do not change that. */
export async function busyClock(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find((metric) => metric.name === "TaskDuration").value;
  };
}

/** An empty page of one's own, before which the others are measured: a canvas that is painted when it is there. */
export const EMPTY_PAGE = `<!doctype html><title>empty</title><canvas class="plain" width="1200" height="600"></canvas><script>
  const context = document.querySelector("canvas").getContext("2d");
  let at = 0;
  const paint = () => { context.clearRect(0, 0, 1200, 600); context.fillRect((at += 7) % 1200, 20, 40, 40); };
  paint();
  for (const kind of ["wheel", "mousemove", "keydown"]) addEventListener(kind, () => requestAnimationFrame(paint));
</script>`;
