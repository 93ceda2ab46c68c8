// A snapshot. It should be a long one, of calls within calls, as `make-snapshot` makes it; what is drawn on the canvas is
// looked at by its pixels, and frames are measured while the calls are moved and zoomed and the list is scrolled from end
// to end.
import assert from "node:assert/strict";
import { newPage, settled } from "./activity.mjs";
import { press } from "./browser.mjs";
import { needing } from "./facts.mjs";
import { frames } from "./frames.mjs";
import { accessible, drawnOn, fitsItsWindow } from "./looks.mjs";

const MOST_FRAME_MS = 33;
const CHART = ".flow-chart canvas";
const AXIS = ".flow-axis canvas";

const query = (page) => new URL(page.url()).searchParams;
const rowOf = (page) => Number(query(page).get("at")?.split("~")[0] ?? -1);
const rangeOf = (page) => query(page).get("range")?.split("~").map(Number) ?? [];
const addressOf = ({ base, facts }, words = "") => `${base}/snapshot/${facts.snapshot}${words}`;

async function opened(page, told, words = "") {
  await page.goto(addressOf(told, words));
  await page.waitForSelector(".flow-row[aria-posinset]:not(.flow-row-waiting)", { timeout: 60_000 });
  await page.waitForSelector('.flow-board[aria-busy="false"]', { timeout: 60_000 });
  await settled(page);
}

/** Opens the thread with the most instructions: on a busy machine the first thread may have only three. */
const openBusiestThread = async (page, told) => openThread(page, told, (await threadsByWork(page, told))[0]);

const openThread = (page, told, index) => opened(page, told, `?thread=${index}`);

/** The indices of the threads, the one with most instructions first. */
async function threadsByWork(page, told) {
  await opened(page, told);
  const answer = await fetch(`${told.base}/api/v1/snapshots/${told.facts.snapshot}/view`);
  const { threads } = await answer.json();
  return threads.map((_, index) => index).sort((a, b) => threads[b].instructions - threads[a].instructions);
}

/** The rows that are in sight, by number. */
const rowsInSight = (page) =>
  page.locator(".flow-row").evaluateAll((rows) => rows.map((row) => Number(row.getAttribute("aria-posinset")) - 1));

async function draws(page, told) {
  await opened(page, told);
  const { colors } = await drawnOn(page, CHART);
  assert.ok(colors > 4, `calls are drawn: ${colors} colours`);
  assert.ok((await drawnOn(page, AXIS)).colors > 3, "all of it in small");
  assert.ok((await rowsInSight(page)).length > 10, "instructions");
  assert.equal((await rowsInSight(page))[0], 0);
  await accessible(page);
}

/**
 * Presses i on one page after another until it enters a call, and returns where it is. Where the calls are, and whether
 * there are any, depends on the recording.
 */
async function enterCall(page) {
  for (let pages = 0; pages < 50; ++pages) {
    await press(page, "i");
    const at = query(page).get("at") ?? "";
    if (/~\d+$/.test(at)) return at;
    await press(page, "PageDown");
  }
  return undefined;
}

async function byKeyboard(page, told) {
  await openBusiestThread(page, told);
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
  const inner = await enterCall(page);
  assert.ok(inner, "i goes into a call");
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

async function sameInBoth(page, told) {
  await openBusiestThread(page, told);
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
  const other = await newPage(page.context().browser(), { viewport: { width: 1280, height: 800 } });
  await opened(other, told, new URL(page.url()).search);
  assert.ok((await rowsInSight(other)).includes(rowOf(page)), "an address shows a colleague the same row");
  assert.equal(await other.locator(".flow-facts").innerText(), await page.locator(".flow-facts").innerText());
  await other.close();
}

/** What came of a search. */
async function answered(page, what) {
  await page.waitForFunction(
    (pattern) => new RegExp(pattern).test(document.querySelector(".flow-told")?.textContent ?? ""),
    what.source,
    { timeout: 30_000 },
  );
  await settled(page);
}

/**
 * The name of a call that starts within the window: a search does not find calls that started before it. Undefined: the
 * thread makes none, because it was in the same calls all the time.
 */
async function callNameInWindow(page) {
  await press(page, "Home");
  const underWay = await page.locator(".flow-stack button").allInnerTexts();
  for (let tries = 0; tries < 50; ++tries) {
    if (!(await enterCall(page))) return undefined;
    const name = await page.locator('.flow-stack button[aria-pressed="true"]').innerText();
    if (!underWay.includes(name)) return name;
    await press(page, "PageDown");
  }
  return undefined;
}

/** Opens the busiest thread that makes a call, and returns the call's name. */
async function openThreadWithCall(page, told) {
  for (const thread of await threadsByWork(page, told)) {
    await openThread(page, told, thread);
    const name = await callNameInWindow(page);
    if (name !== undefined) return name;
  }
  return assert.fail("no thread makes a call whose name is not open at its start");
}

async function searches(page, told) {
  const name = await openThreadWithCall(page, told);
  await press(page, "Home", "/");
  await page.keyboard.type(name);
  await page.keyboard.press("Enter");
  await answered(page, /^Row/);
  assert.ok(rowOf(page) > 0, `${name} is found: ${await page.locator(".flow-told").innerText()}`);
  assert.equal(query(page).get("find"), name);
  await press(page, "Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("no function has this name");
  await page.keyboard.press("Enter");
  await answered(page, /^No call/);
}

/** views.mjs looks at whether all of them are accessible. */
async function otherParts(page, told) {
  for (const part of ["calls", "functions", "sunburst", "syscalls", "delta", "diff", "stats"]) {
    await page.goto(addressOf(told, `?show=${part}${part === "delta" ? "&from=call&to=return" : ""}`));
    await page.waitForSelector(".snapshot-rows, .sunburst, label.snapshot-bar", { timeout: 60_000 });
    assert.equal(await page.locator(".problem").count(), 0, part);
  }
  await page.goto(addressOf(told, "?show=sunburst"));
  await page.waitForSelector(".sunburst-picture");
  await press(page, "ArrowDown");
  assert.ok((await page.locator(".sunburst-path li").count()) > 1, "a key goes into the sunburst");
}

async function looks(page, told) {
  for (const [colorScheme, width, height] of [
    ["dark", 1280, 800],
    ["light", 2560, 1300],
    ["dark", 2560, 1300],
    ["light", 640, 700],
  ]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    await opened(page, told, "?at=1000");
    if (width <= 1280) await accessible(page);
    await fitsItsWindow(page);
  }
}

async function away(page, told) {
  told.may(/ERR_FAILED/);
  await page.route("**/view**", (route) => route.abort());
  await page.goto(addressOf(told));
  await page.waitForSelector(".problem");
  assert.match(await page.locator(".problem").innerText(), /fathom-server/);
  assert.equal(await page.locator(".problem button").count(), 1);
}

/** Moved and zoomed, from all of it to nanoseconds; and the list from end to end. */
async function measured(page, told, width, height) {
  await page.setViewportSize({ width, height });
  await opened(page, told);
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

async function quick(page, told) {
  for (const [width, height] of [
    [1280, 800],
    [2560, 1300],
  ]) {
    const cost = await measured(page, told, width, height);
    console.log(`     ${width} pixels: ${JSON.stringify(cost)}`);
    assert.ok(cost.workP95 <= MOST_FRAME_MS, `p95 of frames at ${width} pixels: ${cost.workP95}`);
  }
}

export const checks = Object.fromEntries(
  Object.entries({
    "calls and instructions are drawn": draws,
    "keys go through it": byKeyboard,
    "the chosen instant is the same in both": sameInBoth,
    "a search finds, and says what it does not": searches,
    "every other question has an answer": otherParts,
    "light, dark, wide and at 200 %": looks,
    "says what to do when the server is away": away,
    "frames are quick": quick,
  }).map(([name, check]) => [name, needing(["snapshot"], check)]),
);
