// How quick the trace view is: node e2e/trace_speed.mjs http://HOST:PORT TRACE_ID [ROUNDS]
//
// Prints, as JSON, the time from a click on a link to the drawn waterfall (the median of five rounds), and the frames' 95th
// percentile while the trace is zoomed, panned and scrolled by wheel, pointer and keys. Beside both stands what the
// page's thread took of a processor for it, which other programs on the host change less.
import { chromium } from "playwright-core";

const [address, id, rounds = "5"] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"].concat(
    ["--disable-component-update", "--disable-sync"],
  ),
});

/** In the page: clicks a link to the trace; resolves when a bar is in the picture. */
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

function recordFrames() {
  const frames = [];
  let before = performance.now();
  const next = (now) => {
    frames.push(now - before);
    before = now;
    if (!globalThis.framesEnded) requestAnimationFrame(next);
  };
  globalThis.frames_ = frames;
  globalThis.framesEnded = false;
  requestAnimationFrame(next);
}

const round = (value) => Number(value.toFixed(1));
const sorted = (values) => [...values].sort((one, other) => one - other);
const quantile = (values, share) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * share))];

/** Milliseconds of a processor that the page's thread has had. */
async function clockOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find((metric) => metric.name === "TaskDuration").value;
  };
}

async function drawnTimes() {
  const times = [];
  const busy = [];
  for (let round = 0; round < Number(rounds); ++round) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`${address}/`);
    await page.waitForTimeout(500);
    const clock = await clockOf(page);
    const before = await clock();
    times.push(await page.evaluate(clickToDrawn, `/trace/${id}`));
    busy.push((await clock()) - before);
    await page.close();
  }
  return { times, busy };
}

async function frameTimes() {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${address}/trace/${id}?runs=open`);
  await page.waitForSelector('[role="treeitem"]', { timeout: 120_000 });
  await page.waitForTimeout(1000);
  const box = await page.locator(".waterfall-bars").boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  const clock = await clockOf(page);
  const parts = {
    zoom: async (step) => {
      if (step === 0) await page.keyboard.down("Control");
      await page.mouse.wheel(0, step < 30 ? -60 : 50);
      if (step === 59) await page.keyboard.up("Control");
    },
    pan: async (step) => {
      if (step === 0) await page.mouse.down();
      await page.mouse.move(x + 150 * Math.sin(step / 5), y);
      if (step === 59) await page.mouse.up();
    },
    scroll: () => page.mouse.wheel(0, 400),
    keys: (step) => page.keyboard.press(["ArrowRight", "j", "c", "+", "-"][step % 5]),
  };
  const result = {};
  for (const [name, act] of Object.entries(parts)) {
    await page.evaluate(recordFrames);
    const before = await clock();
    for (let step = 0; step < 60; ++step) await act(step);
    const frames = await page.evaluate(() => ((globalThis.framesEnded = true), globalThis.frames_));
    result[name] = {
      frames: frames.length,
      p50: round(quantile(frames, 0.5)),
      p95: round(quantile(frames, 0.95)),
      busy_per_step: round(((await clock()) - before) / 60),
    };
  }
  await page.close();
  return result;
}

const { times, busy } = await drawnTimes();
const drawn = {
  median_ms: Math.round(quantile(times, 0.5)),
  all_ms: times.map(Math.round),
  busy_ms: busy.map(Math.round),
};
console.log(JSON.stringify({ click_to_drawn: drawn, frames: await frameTimes() }, null, 1));
await browser.close();
