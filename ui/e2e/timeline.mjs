// Timelines: what is drawn of a trace with captures, and what keys and pointer do. Then one of 100,000 items is put in the
// server's place, and moved and zoomed.
import assert from "node:assert/strict";
import { settled } from "./activity.mjs";
import { press, query } from "./browser.mjs";
import { needing } from "./facts.mjs";
import { frames } from "./frames.mjs";
import { accessible, drawnOn, fitsItsWindow } from "./looks.mjs";
import { busyTimeline } from "./timeline_load.mjs";

const SURFACE = ".timeline-surface canvas";
// Work of a processor, not the wall's time: other programs of the host do not change it. `./dev bench ui` has the wall's.
const MOST_FRAME_WORK_MS = 33;
const durationIn = (page) => Number(query(page, "at")?.split("~")[1]);
const chosenTitle = (page) => page.locator(".timeline-details h2").first().innerText();

async function opened(page, { base, facts }, more = "") {
  await page.goto(`${base}/trace/${facts.captured}/timeline${more}`);
  await page.waitForSelector(SURFACE);
  await settled(page);
}

async function drawn(page, told) {
  await opened(page, told);
  assert.ok((await drawnOn(page, SURFACE)).colors > 4, "lanes are drawn");
  assert.ok((await drawnOn(page, ".timeline-scale canvas")).colors > 1, "the axis is drawn");
  assert.ok((await page.locator(".timeline-process").count()) > 0, "processes have names");
}

async function byKeyboard(page, told) {
  await opened(page, told, "?all=1");
  await press(page, "ArrowDown");
  const first = query(page, "sel");
  assert.ok(first, "an arrow chooses an item, and the address says it");
  await press(page, "ArrowDown");
  assert.notEqual(query(page, "sel"), first, "another one goes on");
  await press(page, "Enter");
  const item = durationIn(page);
  assert.ok(item > 0, "Enter zooms to the item");
  await press(page, ...Array(90).fill("w"));
  assert.equal(durationIn(page), 20, "w zooms in to nanoseconds");
  await press(page, "s");
  assert.ok(durationIn(page) > 20, "s zooms out");
  await press(page, "f");
  assert.ok(durationIn(page) > (item / 1.3) * 0.99, "f shows all");
  await accessible(page, "with an item chosen");
  const title = await chosenTitle(page);
  await page.goto(page.url());
  await page.waitForSelector(SURFACE);
  await settled(page);
  assert.equal(await chosenTitle(page), title, "the address shows a colleague the same item");
}

async function inSight(page, told) {
  await opened(page, told, "?all=1");
  await press(page, ...Array(40).fill("ArrowDown"));
  const scrolled = () => page.evaluate(() => document.querySelector(".timeline-lanes").scrollTop);
  const before = await scrolled();
  await page.reload();
  await page.waitForSelector(SURFACE);
  await settled(page);
  assert.ok(before === 0 || (await scrolled()) > 0, `from ${before} to ${await scrolled()}`);
}

/** Where the first lane has its spans, and how far it goes. */
function spanRow() {
  const lane = document.querySelector(".timeline-lane");
  const { left, width } = document.querySelector(".timeline-surface canvas").getBoundingClientRect();
  return { left, width, y: lane.getBoundingClientRect().top + 12 };
}

/** Puts the pointer over a span of the first lane: which part of it has some is as the requests were. */
async function pointedAtASpan(page) {
  const { left, width, y } = await page.evaluate(spanRow);
  for (let part = 1; part < 32; ++part) {
    const x = left + (width * ((part * 13) % 32)) / 32;
    await page.mouse.move(x, y);
    await settled(page);
    if ((await page.locator(".over-tip-title").count()) === 1) return { x, y };
  }
  throw new assert.AssertionError({ message: "pointing at a span tells it" });
}

async function byMouse(page, told) {
  await opened(page, told);
  const { x, y } = await pointedAtASpan(page);
  const tip = await page.locator(".over-tip").boundingBox();
  assert.ok(Math.abs(tip.x - x) < 40, `beside the pointer: ${tip.x} of ${x}`);
  await page.mouse.click(x, y);
  await settled(page);
  assert.match(query(page, "sel") ?? "", /^spans~/, "a click chooses it");
  const link = page.locator('.timeline-facts a[href*="span="]').first();
  assert.match(await link.getAttribute("href"), /^\/trace\//, "it leads back to the trace");
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await settled(page);
  const zoomed = durationIn(page);
  assert.ok(zoomed > 0, "Ctrl and the wheel zoom");
  await page.mouse.down();
  await page.mouse.move(x + 80, y, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  assert.equal(durationIn(page), zoomed, "dragging moves, and keeps the scale");
}

async function folding(page, told) {
  await opened(page, told);
  const before = await page.locator(".timeline-lane").count();
  await page.locator(".timeline-process").first().click();
  await settled(page);
  assert.ok((await page.locator(".timeline-lane").count()) < before, "a process folds");
  assert.ok(query(page, "fold"), "and the address says it");
}

async function narrow(page, told) {
  await page.setViewportSize({ width: 640, height: 400 });
  await opened(page, told);
  await fitsItsWindow(page);
}

async function quick(page, told) {
  await page.route("**/api/v1/traces/*/timeline*", (route) => route.fulfill({ json: busyTimeline(100_000) }));
  await opened(page, { ...told, facts: { captured: "4bf92f3577b34da6a3ce929d0e0e4736" } });
  const { x, y, width } = await page.locator(SURFACE).boundingBox();
  await page.mouse.move(x + width * 0.4, y + 200);
  const took = await frames(page, async () => {
    for (let step = 0; step < 30; ++step) await page.keyboard.press(step % 2 ? "a" : "d");
    for (let step = 0; step < 60; ++step) await page.keyboard.press(step < 30 ? "w" : "s");
    await page.mouse.down();
    for (let step = 0; step < 60; ++step) await page.mouse.move(x + width * 0.4 + (step % 30) * 8, y + 200);
    await page.mouse.up();
  });
  assert.ok(took.workP95 <= MOST_FRAME_WORK_MS, `of ${took.frames} frames p95 takes ${took.workP95} ms of a processor`);
}

async function away(page, { base, may }) {
  may(/Failed to load resource/);
  await page.route("**/api/v1/**", (route) => route.abort());
  await page.goto(`${base}/trace/4bf92f3577b34da6a3ce929d0e0e4736/timeline`);
  assert.match(await page.locator(".problem").innerText(), /fathom-server/, "what to look for");
  assert.equal(await page.locator(".problem button").count(), 1, "one can try again");
  await accessible(page, "when the server is away");
}

export const checks = {
  "lanes, axis and names are drawn": needing(["captured"], drawn),
  "keys choose and zoom, down to nanoseconds": needing(["captured"], byKeyboard),
  "an item far below is in sight again": needing(["captured"], inSight),
  "the pointer tells, chooses and moves": needing(["captured"], byMouse),
  "processes fold": needing(["captured"], folding),
  "it can be read at 200 %": needing(["captured"], narrow),
  "100,000 items move": quick,
  "a server that is away is told": away,
};
