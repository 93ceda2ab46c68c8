// From a selection in the heatmap (the button is let go) to its list and its differences, both of that selection and drawn.
import { add, median, quantile } from "./sample.mjs";

/** In the page: from now on listens for the button's release; `selectionDone` is how long it took to both lists of it. */
function listen() {
  const ready = (selector) => document.querySelector(selector)?.dataset["busy"] === "false";
  const none = () => document.querySelector(".explore-slow p.faint")?.textContent === "There are none.";
  globalThis.selectionDone = new Promise((resolve) => {
    const begin = (event) => {
      // Two frames on, what stands there knows of the selection, and is busy.
      let frames = 0;
      const look = () => {
        const lists = ready(".differences") && (ready(".slow-list") || none());
        if (++frames > 2 && lists) requestAnimationFrame(() => resolve(performance.now() - event.timeStamp));
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    };
    addEventListener("pointerup", begin, { once: true, capture: true });
  });
}

const LIMIT_MS = 30_000;

/** The page's answer, or an error that says where it stands. */
async function done(page) {
  const limit = new Promise((resolve) => setTimeout(resolve, LIMIT_MS, undefined).unref());
  const took = await Promise.race([page.evaluate(() => globalThis.selectionDone), limit]);
  if (took === undefined) throw new Error(`no lists ${LIMIT_MS / 1000} s after the selection ${page.url()}`);
  return took;
}

/** Waits until the page asks nothing any more: as someone does who looks at one selection before the next. */
function quiet(page) {
  let [flying, changed] = [0, performance.now()];
  const count = (by) => () => ([flying, changed] = [flying + by, performance.now()]);
  page.on("request", count(1));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, count(-1));
  return async () => {
    while (flying > 0 || performance.now() - changed < 200) await page.waitForTimeout(20);
  };
}

/** Its own numbers, so that every run selects the same. */
function numbers(seed) {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 4294967296;
}

async function select(page, box, next) {
  const [left, top] = [0.08 + next() * 0.6, 0.05 + next() * 0.25];
  const [right, bottom] = [left + 0.03 + next() * 0.28, top + 0.15 + next() * 0.45];
  const at = (x, y) => [box.x + x * box.width, box.y + y * box.height];
  await page.mouse.move(...at(left, top));
  await page.mouse.down();
  await page.mouse.move(...at(right, bottom), { steps: 3 });
  const before = page.url();
  await page.evaluate(listen);
  await page.mouse.up();
  await page.waitForTimeout(20);
  if (page.url() === before || !page.url().includes("sel_from")) return undefined; // nothing lies there
  return done(page);
}

export async function measureSelections({ browser, base, range, times, told }) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, timezoneId: "UTC" });
  const untilQuiet = quiet(page);
  await page.goto(`${base}/?${range}`);
  await page.locator(".heatmap-cells").waitFor();
  await page.locator(".slow-list li").first().waitFor();
  const next = numbers(11);
  const took = [];
  for (let round = 0; round < times; ++round) {
    const box = await page.locator(".heatmap").boundingBox();
    const one = await select(page, box, next);
    if (one !== undefined) took.push(one);
    // What else the page asks (the rest of the requests) is of the last selection, and not of the next.
    await untilQuiet();
  }
  await page.close();
  if (took.length < times / 2) throw new Error(`only ${took.length} of ${times} selections held anything`);
  add(told, "ui.select_to_list_ms_p99", quantile(took, 0.99), `of ${took.length} selections, to list and differences`);
  add(told, "ui.select_to_list_ms_p50", median(took));
  add(told, "ui.select_to_list_ms_max", quantile(took, 1));
}
