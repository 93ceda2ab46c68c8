// From a click on a link to a trace to its drawn waterfall.
import { add, busyClock, median } from "./sample.mjs";

/** In the page: clicks a link; resolves when a bar is in the picture. */
function clickToDrawn(to) {
  const link = document.createElement("a");
  link.href = to;
  document.body.append(link);
  const began = performance.now();
  link.click();
  return new Promise((resolve) => {
    const look = () => {
      const canvas = document.querySelector(".waterfall-bars");
      const row = document.querySelector('[role="treeitem"]');
      const some = canvas?.width && row && canvas.getContext("2d").getImageData(0, 40, canvas.width, 1).data;
      // Twice in a row: what was painted in this frame is on the screen in the next.
      if (some && some.some((value) => value > 0)) requestAnimationFrame(() => resolve(performance.now() - began));
      else requestAnimationFrame(look);
    };
    look();
  });
}

export async function measureTrace({ browser, base, range, subject, times, told }) {
  const [took, busy] = [[], []];
  for (let round = 0; round < times; ++round) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`${base}/services?${range}`);
    await page.waitForLoadState("networkidle");
    const clock = await busyClock(page);
    const before = await clock();
    took.push(await page.evaluate(clickToDrawn, `/trace/${subject}`));
    busy.push((await clock()) - before);
    await page.close();
  }
  add(told, "ui.trace_10k_ms", median(took), `median of ${times}, from a click to the drawn waterfall, in a new page`);
  add(told, "ui.trace_10k_busy_ms", median(busy), "of it: a processor's time that the page's thread took");
}
