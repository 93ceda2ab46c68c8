// What a browser shows of a snapshot: node e2e/snapshot.mjs PAGE-ADDRESS SNAPSHOT-ID [--shots DIRECTORY] [--json]
//
// The snapshot should be a long one, of calls within calls. What is drawn on the canvas is looked at by its pixels, and frames
// are measured while the calls are moved and zoomed and the list is scrolled from end to end. --json prints these
// alone, as one line: what frames cost of a processor and by the clock, 95th percentiles, milliseconds.
import assert from "node:assert/strict";
import process from "node:process";
import { accessible, base, drawnOn, run } from "./browser.mjs";
import { frames } from "./frames.mjs";

const id = process.argv[3] ?? "";
const shots = process.argv.includes("--shots") ? process.argv[process.argv.indexOf("--shots") + 1] : undefined;
const json = process.argv.includes("--json");
const MOST_FRAME_MS = 33;
const CHART = ".flow-chart canvas";
const AXIS = ".flow-axis canvas";

const query = (page) => new URL(page.url()).searchParams;
const settled = (page) => page.waitForTimeout(500);
const rowOf = (page) => Number(query(page).get("at")?.split("~")[0] ?? -1);
const rangeOf = (page) => query(page).get("range")?.split("~").map(Number) ?? [];
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
};

async function opened(page, words = "") {
  await page.goto(`${base}/snapshot/${id}${words}`);
  await page.waitForSelector(".flow-row[aria-posinset]:not(.flow-row-waiting)", { timeout: 60_000 });
  await page.waitForSelector('.flow-board[aria-busy="false"]', { timeout: 60_000 });
  await settled(page);
}

const shot = async (page, name) => shots && page.screenshot({ path: `${shots}/snapshot-${name}.png` });

/** The rows that are in sight, by number. */
const rowsInSight = (page) =>
  page.locator(".flow-row").evaluateAll((rows) => rows.map((row) => Number(row.getAttribute("aria-posinset")) - 1));

async function draws(page) {
  await opened(page);
  const { colors } = await drawnOn(page, CHART);
  assert.ok(colors > 4, `calls are drawn: ${colors} colours`);
  assert.ok((await drawnOn(page, AXIS)).colors > 3, "all of it in small");
  assert.ok((await rowsInSight(page)).length > 10, "instructions");
  assert.equal((await rowsInSight(page))[0], 0);
  await accessible(page);
  await shot(page, "light-1280");
}

async function byKeyboard(page) {
  await opened(page);
  await press(page, "ArrowDown", "ArrowDown", "ArrowDown");
  assert.equal(rowOf(page), 2, "arrows go from instruction to instruction");
  await press(page, "PageDown");
  assert.ok(rowOf(page) > 10, page.url());
  await press(page, "End");
  const last = Number(await page.locator('.flow-row[aria-selected="true"]').getAttribute("aria-setsize")) - 1;
  assert.equal(rowOf(page), last);
  assert.ok((await rowsInSight(page)).includes(last), "the last row is in sight");
  await press(page, "Home");
  assert.equal(rowOf(page), 0);
  assert.ok((await rowsInSight(page)).includes(0), "and the first one again");
  await press(page, "i");
  const inner = query(page).get("at");
  assert.match(inner, /~\d+$/, "i goes into a call");
  await press(page, "o");
  assert.ok(Number(query(page).get("at").split("~")[1]) < Number(inner.split("~")[1]), "o goes out of it");
  await press(page, "i", "Enter");
  assert.ok(rangeOf(page)[1] > 0, "Enter zooms to it");
  for (let step = 0; step < 80; ++step) await page.keyboard.press("w");
  await settled(page);
  assert.equal(rangeOf(page)[1], 20, "w zooms in to nanoseconds");
  await press(page, "f");
  assert.ok(rangeOf(page)[1] > 20);
  await accessible(page);
}

async function sameInBoth(page) {
  await opened(page);
  const box = await page.locator(CHART).boundingBox();
  await page.mouse.click(box.x + box.width * 0.6, box.y + 22);
  await settled(page);
  const row = rowOf(page);
  assert.ok(row > 0, "a click in the calls selects an instruction");
  assert.ok((await rowsInSight(page)).includes(row), "which the list shows");
  assert.equal(await page.locator('.flow-row[aria-selected="true"]').getAttribute("aria-posinset"), String(row + 1));
  const before = rangeOf(page);
  for (let step = 0; step < 25; ++step) await page.keyboard.press("w");
  await press(page, "End");
  assert.notDeepEqual(rangeOf(page), before, "an instruction out of sight moves the calls to it");
  const other = await page
    .context()
    .browser()
    .newPage({ viewport: { width: 1280, height: 800 } });
  await opened(other, new URL(page.url()).search);
  assert.ok((await rowsInSight(other)).includes(rowOf(page)), "an address shows a colleague the same row");
  assert.equal(await other.locator(".flow-facts").innerText(), await page.locator(".flow-facts").innerText());
  await other.close();
}

/** What came of a search. */
async function told(page, what) {
  await page.waitForFunction(
    (pattern) => new RegExp(pattern).test(document.querySelector(".flow-told")?.textContent ?? ""),
    what.source,
    { timeout: 30_000 },
  );
  await settled(page);
}

async function searches(page) {
  await opened(page);
  await press(page, "i");
  const name = await page.locator('.flow-stack button[aria-pressed="true"]').innerText();
  await press(page, "Home", "/");
  await page.keyboard.type(name);
  await page.keyboard.press("Enter");
  await told(page, /^Row/);
  assert.ok(rowOf(page) > 0, `${name} is found: ${await page.locator(".flow-told").innerText()}`);
  assert.equal(query(page).get("find"), name);
  await press(page, "Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("no function has this name");
  await page.keyboard.press("Enter");
  await told(page, /^No call/);
}

async function otherParts(page) {
  for (const part of ["calls", "functions", "sunburst", "syscalls", "delta", "diff", "stats"]) {
    await page.goto(`${base}/snapshot/${id}?show=${part}${part === "delta" ? "&from=call&to=return" : ""}`);
    await page.waitForSelector(".snapshot-rows, .sunburst, label.snapshot-bar", { timeout: 60_000 });
    assert.equal(await page.locator(".problem").count(), 0, part);
    await accessible(page);
    await shot(page, part);
  }
  await page.goto(`${base}/snapshot/${id}?show=sunburst`);
  await page.waitForSelector(".sunburst-picture");
  await press(page, "ArrowDown");
  assert.ok((await page.locator(".sunburst-path li").count()) > 1, "a key goes into the sunburst");
}

async function looks(page) {
  for (const [colorScheme, width, height] of [
    ["dark", 1280, 800],
    ["light", 2560, 1300],
    ["dark", 2560, 1300],
    ["light", 640, 700],
  ]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    await opened(page, "?at=1000");
    await shot(page, `${colorScheme}-${width}`);
    if (width <= 1280) await accessible(page);
    const beside = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(beside <= 0, `nothing is beside the window of ${width} pixels: ${beside}`);
  }
}

async function away(page) {
  await page.route("**/view**", (route) => route.abort());
  await page.goto(`${base}/snapshot/${id}`);
  await page.waitForSelector(".problem");
  assert.match(await page.locator(".problem").innerText(), /fathom-server/);
  assert.equal(await page.locator(".problem button").count(), 1);
}

/** Moved and zoomed, from all of it to nanoseconds; and the list from end to end. */
async function measured(page, width, height) {
  await page.setViewportSize({ width, height });
  await opened(page);
  const box = await page.locator(CHART).boundingBox();
  const [x, y] = [box.x + box.width * 0.4, box.y + 60];
  const list = await page.locator(".flow-list").boundingBox();
  await page.mouse.move(x, y);
  return frames(page, async () => {
    for (let step = 0; step < 60; ++step) await page.keyboard.press("w");
    await page.mouse.down();
    for (let step = 0; step < 60; ++step) await page.mouse.move(x + (step % 30) * 8, y);
    await page.mouse.up();
    for (let step = 0; step < 60; ++step) await page.keyboard.press("s");
    for (let step = 0; step < 30; ++step) await page.keyboard.press(step % 2 ? "a" : "d");
    await page.mouse.move(list.x + 100, list.y + 100);
    for (let step = 0; step < 60; ++step) await page.mouse.wheel(0, 700);
    await page.keyboard.press("End");
    await page.keyboard.press("Home");
  });
}

async function quick(page) {
  for (const [width, height] of [
    [1280, 800],
    [2560, 1300],
  ]) {
    const told = await measured(page, width, height);
    if (json) console.log(JSON.stringify({ width, ...told }));
    else console.log(`     ${width} pixels: ${JSON.stringify(told)}`);
    assert.ok(told.workP95 <= MOST_FRAME_MS, `p95 of frames at ${width} pixels: ${told.workP95}`);
  }
}

await run(json ? { quick } : { draws, byKeyboard, sameInBoth, searches, otherParts, looks, away, quick });
