// What a browser shows of timelines: node e2e/timeline.mjs PAGE-ADDRESS TRACE-ID [--shots DIRECTORY]
//
// The trace needs captures (`fathom demo` makes them). What is drawn on the canvas is looked at by its pixels. Then a
// timeline of 100,000 items is put in the server's place, and frames are measured while it is moved and zoomed.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import process from "node:process";
import { chromium } from "playwright-core";
import { frames } from "./frames.mjs";
import { busyTimeline } from "./timeline_load.mjs";

const [address = "http://127.0.0.1:7070", trace = ""] = process.argv.slice(2);
const shots = process.argv.includes("--shots") ? process.argv[process.argv.indexOf("--shots") + 1] : undefined;
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS =
  "no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update disable-sync";
const MOST_FRAME_MS = 33;
const failures = [];

function check(what, holds, found = "") {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}${holds ? "" : `: ${JSON.stringify(found)}`}`);
  if (!holds) failures.push(what);
}

async function accessible(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  check(
    `axe finds nothing: ${where}`,
    violations.length === 0,
    violations.map(({ id, nodes }) => [id, nodes[0]?.html]),
  );
}

async function shot(page, name) {
  if (shots) await page.screenshot({ path: `${shots}/timeline-${name}.png` });
}

/** How many different colours a canvas has: a blank one has one or two. */
function colours(page, selector) {
  return page.evaluate((which) => {
    const canvas = document.querySelector(which);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  }, selector);
}

const query = (page) => new URL(page.url()).searchParams;
const settled = (page) => page.waitForTimeout(400);
const durationIn = (page) => Number(query(page).get("at")?.split("~")[1]);

async function opened(browser, path, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  page.on("pageerror", (problem) => check("the page has no error", false, problem.message));
  if (options.answer) {
    await page.route("**/api/v1/traces/*/timeline*", (route) => route.fulfill({ json: options.answer }));
  }
  await page.goto(address + path);
  await page.waitForSelector(".timeline-surface canvas");
  await settled(page);
  return page;
}

async function drawn(browser) {
  const page = await opened(browser, `/trace/${trace}/timeline`);
  check("lanes are drawn", (await colours(page, ".timeline-surface canvas")) > 4);
  check("the axis is drawn", (await colours(page, ".timeline-scale canvas")) > 2);
  check("processes have names", (await page.locator(".timeline-process").count()) > 0);
  await accessible(page, "a trace, light");
  await shot(page, "light-1280");
  await page.close();
}

async function byKeyboard(browser) {
  const page = await opened(browser, `/trace/${trace}/timeline?all=1`);
  await page.keyboard.press("ArrowDown");
  await settled(page);
  const first = query(page).get("sel");
  check("an arrow chooses an item, and the address says it", first !== null);
  await page.keyboard.press("ArrowDown");
  await settled(page);
  check("another one goes on", query(page).get("sel") !== first);
  await page.keyboard.press("Enter");
  await settled(page);
  const item = durationIn(page);
  check("Enter zooms to the item", item > 0, page.url());
  for (let step = 0; step < 90; ++step) await page.keyboard.press("w");
  await settled(page);
  check("w zooms in to nanoseconds", durationIn(page) === 20, page.url());
  await page.keyboard.press("s");
  await settled(page);
  check("s zooms out", durationIn(page) > 20);
  await page.keyboard.press("f");
  await settled(page);
  check("f shows all", durationIn(page) > (item / 1.3) * 0.99, page.url());
  await accessible(page, "all threads, an item chosen");
  await comesBack(browser, page);
  await page.close();
}

// The same address shows the same.
async function comesBack(browser, page) {
  const told = await page.locator(".timeline-details h2").innerText();
  const other = await opened(browser, new URL(page.url()).pathname + new URL(page.url()).search);
  check(
    "an address shows a colleague the same item",
    (await other.locator(".timeline-details h2").innerText()) === told,
  );
  await other.close();
  await inSight(browser);
}

// An item far below is scrolled to.
async function inSight(browser) {
  const page = await opened(browser, `/trace/${trace}/timeline?all=1`);
  for (let step = 0; step < 40; ++step) await page.keyboard.press("ArrowDown");
  await settled(page);
  const scrolled = () => page.evaluate(() => document.querySelector(".timeline-lanes").scrollTop);
  const before = await scrolled();
  await page.reload();
  await page.waitForSelector(".timeline-surface canvas");
  await settled(page);
  check("an item far below is in sight again", before === 0 || (await scrolled()) > 0, before);
  await page.close();
}

async function byMouse(browser) {
  const page = await opened(browser, `/trace/${trace}/timeline`);
  const box = await page.locator(".timeline-surface canvas").boundingBox();
  const span = await page.evaluate(spanPixel);
  check("a span is to be seen", span !== null);
  await page.mouse.move(box.x + span.left, box.y + span.top);
  await settled(page);
  check("pointing at it tells it", (await page.locator(".timeline-tip-title").count()) === 1);
  const tip = await page.locator(".timeline-tip").boundingBox();
  check("beside the pointer", tip !== null && Math.abs(tip.x - box.x - span.left) < 40, tip);
  await page.mouse.click(box.x + span.left, box.y + span.top);
  await settled(page);
  check("a click chooses it", query(page).get("sel")?.startsWith("spans~") ?? false, page.url());
  const link = page.locator('.timeline-facts a[href*="span="]').first();
  check("it leads back to the trace", (await link.getAttribute("href"))?.startsWith("/trace/") ?? false);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await settled(page);
  const zoomed = durationIn(page);
  check("Ctrl and the wheel zoom", zoomed > 0, page.url());
  await page.mouse.down();
  await page.mouse.move(box.x + span.left + 80, box.y + span.top, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  check("dragging moves, and keeps the scale", durationIn(page) === zoomed, page.url());
  const before = await page.locator(".timeline-lane").count();
  await page.locator(".timeline-process").first().click();
  await settled(page);
  check(
    "a process folds, and the address says it",
    (await page.locator(".timeline-lane").count()) < before && query(page).has("fold"),
  );
  await shot(page, "chosen-1280");
  await page.close();
}

/** The middle of the first span: below the first process's head. */
function spanPixel() {
  const lane = document.querySelector(".timeline-lane");
  const pane = document.querySelector(".timeline-lanes");
  const surface = document.querySelector(".timeline-surface canvas");
  if (!lane || !pane || !surface) return null;
  const top = lane.getBoundingClientRect().top - surface.getBoundingClientRect().top + 12;
  return { left: surface.clientWidth / 2, top };
}

async function looks(browser) {
  for (const [colorScheme, width, height] of [
    ["dark", 1280, 800],
    ["light", 2560, 1300],
    ["dark", 2560, 1300],
  ]) {
    const page = await opened(browser, `/trace/${trace}/timeline?all=1`, { colorScheme, viewport: { width, height } });
    await shot(page, `${colorScheme}-${width}`);
    if (width === 1280) await accessible(page, "dark");
    await page.close();
  }
  const page = await opened(browser, `/trace/${trace}/timeline`, {
    viewport: { width: 640, height: 400 },
    deviceScaleFactor: 2,
  });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check("at 200 % nothing is wider than the window", wide <= 640, wide);
  await shot(page, "200-percent");
  await page.close();
}

async function quick(browser, width, height) {
  const page = await opened(browser, `/trace/${trace}/timeline`, {
    answer: busyTimeline(100_000),
    viewport: { width, height },
  });
  await shot(page, `busy-${width}`);
  const box = await page.locator(".timeline-surface canvas").boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 200);
  const told = await movedAndZoomed(page, box);
  const text = Object.entries(told).map(([name, value]) => `${name} ${value.toFixed(1)}`);
  console.log(`100,000 items at ${width} pixels, ms per frame: ${text.join(", ")}`);
  check(`p95 of frames at ${width} pixels is at most ${MOST_FRAME_MS} ms`, told.workP95 <= MOST_FRAME_MS, told);
  await page.close();
}

function movedAndZoomed(page, box) {
  return frames(page, async () => {
    for (let step = 0; step < 30; ++step) await page.keyboard.press(step % 2 ? "a" : "d");
    for (let step = 0; step < 60; ++step) await page.keyboard.press(step < 30 ? "w" : "s");
    await page.mouse.down();
    for (let step = 0; step < 60; ++step) await page.mouse.move(box.x + box.width * 0.4 + (step % 30) * 8, box.y + 200);
    await page.mouse.up();
  });
}

async function away(browser) {
  const page = await browser.newPage();
  await page.route("**/api/v1/**", (route) => route.abort());
  await page.goto(`${address}/trace/${trace}/timeline`);
  await page.waitForSelector(".problem");
  check("a server that is away is told", (await page.locator(".problem").innerText()).includes("fathom-server"));
  check("one can try again", (await page.locator(".problem button").count()) === 1);
  await accessible(page, "the server is away");
  await page.close();
}

async function lists(browser) {
  for (const view of ["captures", "snapshots"]) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`${address}/${view}`);
    await page.waitForSelector(".list-head");
    await settled(page);
    const rows = await page.locator(".rows tbody tr").count();
    check(`${view}: rows, or a word about none`, rows > 0 || (await page.locator("main p").count()) > 0);
    await accessible(page, view);
    await shot(page, view);
    if (rows > 0) {
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await page.waitForURL(new RegExp(`/${view.slice(0, -1)}/`));
      check(`${view}: j and Enter open the first`, true);
    }
    await page.close();
  }
  const page = await browser.newPage();
  await page.goto(`${address}/captures`);
  await page.waitForSelector(".list-head");
  await page.selectOption("select", "crash");
  await settled(page);
  check("a filter is in the address", query(page).get("trigger") === "crash", page.url());
  await page.close();
}

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: FLAGS.split(" ").map((flag) => `--${flag}`),
});
try {
  for (const part of [drawn, byKeyboard, byMouse, looks, away, lists]) await part(browser);
  await quick(browser, 1280, 800);
  await quick(browser, 2560, 1300);
} finally {
  await browser.close();
}
console.log(failures.length === 0 ? "all is well" : `${failures.length} checks failed`);
process.exitCode = failures.length === 0 ? 0 : 1;
