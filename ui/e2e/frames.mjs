// What frames cost, as the browser's own trace says it.

const percentile = (all, share) => [...all].sort((one, other) => one - other)[Math.floor(all.length * share)] ?? 0;

/**
 * What frames cost while `each` goes on: `work`, milliseconds of a processor that painting took and handing over what was
 * painted, which another program's work does not change; `wall`, from a frame's begin to its end, which it does.
 */
export async function frames(page, each) {
  const session = await page.context().newCDPSession(page);
  const events = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  const includedCategories = ["devtools.timeline", "disabled-by-default-devtools.timeline"];
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories } });
  await each();
  const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  await session.send("Tracing.end");
  await complete;
  await session.detach();
  const of = (name, field) =>
    events.filter((event) => event.name === name && event[field] > 0).map((event) => event[field] / 1000);
  const both = (field, share) =>
    percentile(of("FireAnimationFrame", field), share) + percentile(of("Commit", field), share);
  const count = of("Commit", "dur").length;
  return { frames: count, workP50: both("tdur", 0.5), workP95: both("tdur", 0.95), wallP95: both("dur", 0.95) };
}
