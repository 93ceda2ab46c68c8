// Frames while a picture is moved and zoomed: from one to the next by the wall, and what they cost a processor. Beside them
// stands a plain canvas under the same hands.
import { frames } from "./frames.mjs";
import { add, EMPTY_PAGE, quantile } from "./sample.mjs";

const STEPS = 60;

/** In the page: notes how long it is from frame to frame, until told to end. */
function recordFrames() {
  const [all, begun] = [[], performance.now()];
  let before = begun;
  const next = (now) => {
    if (now > before) all.push(now - before);
    before = now;
    if (!globalThis.framesEnded) requestAnimationFrame(next);
  };
  [globalThis.framesSeen, globalThis.framesEnded] = [all, false];
  requestAnimationFrame(next);
}

const hands = ([x, y], keys) => ({
  zoom: async (page, step) => {
    if (step === 0) await page.keyboard.down("Control");
    await page.mouse.wheel(0, step < STEPS / 2 ? -60 : 50);
    if (step === STEPS - 1) await page.keyboard.up("Control");
  },
  pan: async (page, step) => {
    if (step === 0) await page.mouse.down();
    await page.mouse.move(x + 150 * Math.sin(step / 5), y);
    if (step === STEPS - 1) await page.mouse.up();
  },
  scroll: (page, step) => page.mouse.wheel(0, step < STEPS / 2 ? 400 : -400),
  keys: (page, step) => page.keyboard.press(keys[step % keys.length]),
});

/** Milliseconds from frame to frame, by what the hands did. */
async function walls(page, selector, keys) {
  const { x, y, width, height } = await page.locator(selector).first().boundingBox();
  const middle = [x + width / 2, y + height / 2];
  await page.mouse.move(...middle);
  const seen = {};
  for (const [name, act] of Object.entries(hands(middle, keys))) {
    await page.evaluate(recordFrames);
    for (let step = 0; step < STEPS; ++step) await act(page, step);
    seen[name] = await page.evaluate(() => ((globalThis.framesEnded = true), globalThis.framesSeen));
  }
  return seen;
}

async function opened(browser, address, selector) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(address);
  await page.waitForSelector(selector, { timeout: 120_000 });
  await page.waitForTimeout(1000);
  return page;
}

/** Rounds of a picture and of the plain canvas, in turns; all frames of each, and the first's by hand. */
async function inTurns(browser, address, selector, keys, rounds) {
  const [page, plain] = [await opened(browser, address, selector), await browser.newPage()];
  await plain.setContent(EMPTY_PAGE);
  const all = { seen: {}, floor: [], work: [] };
  for (let round = 0; round < rounds; ++round) {
    await plain.bringToFront();
    all.floor.push(...Object.values(await walls(plain, ".plain", keys)).flat());
    await page.bringToFront();
    for (const [name, took] of Object.entries(await walls(page, selector, keys))) (all.seen[name] ??= []).push(...took);
  }
  all.work.push((await frames(page, () => walls(page, selector, keys))).workP95);
  await page.close();
  await plain.close();
  return all;
}

function report(told, prefix, what, { seen, floor, work }) {
  const every = Object.values(seen).flat();
  const p95 = quantile(every, 0.95);
  add(told, `${prefix}frame_ms_p95`, p95, `of ${every.length} frames, from one to the next, ${what}`);
  for (const [name, took] of Object.entries(seen)) add(told, `${prefix}frame_${name}_ms_p95`, quantile(took, 0.95));
  add(told, `${prefix}frame_work_ms_p95`, work[0], "what a frame takes of a processor");
  add(
    told,
    `${prefix.replace(/^ui/, "floor")}frame_ms_p95`,
    quantile(floor, 0.95),
    "a plain canvas under the same hands, in turns",
  );
  return p95;
}

const TRACE_KEYS = ["ArrowRight", "j", "c", "+", "-"];

export async function measureFrames({ browser, base, subject, times, told }) {
  const address = `${base}/trace/${subject}?runs=open`;
  const all = await inTurns(browser, address, ".waterfall-bars", TRACE_KEYS, Math.ceil(times / 3));
  report(told, "ui.", "of the trace of 10,000 spans", all);
}

const FLOW = ".flow-chart canvas";
const FLOW_KEYS = ["d", "w", "s", "a"];

/** Of a page that has no such picture, that is said. */
async function hasFlow(browser, address) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(address);
  const found = await page.waitForSelector(FLOW, { timeout: 120_000 }).then(
    () => true,
    () => false,
  );
  await page.close();
  return found;
}

export async function measureSnapshotFrames({ browser, base, subject, times, told }) {
  const address = `${base}/snapshot/${subject}`;
  if (!(await hasFlow(browser, address))) {
    const why = "the page shows no picture of a snapshot's calls over time";
    return told.not_measured.push({ key: "ui.snapshot_frame_ms_p95", why });
  }
  const all = await inTurns(browser, address, FLOW, FLOW_KEYS, Math.ceil(times / 3));
  return report(told, "ui.snapshot_", "of a snapshot of 10 million instructions", all);
}
