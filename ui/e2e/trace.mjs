// The trace view: what it draws, and what keys and pointer do.
import assert from "node:assert/strict";
import { settled } from "./activity.mjs";
import { brokenTrace } from "./broken_trace.mjs";
import { press, query } from "./browser.mjs";
import { needing } from "./facts.mjs";
import { accessible, fitsItsWindow, pixelsBetween } from "./looks.mjs";

const BARS = ".waterfall-bars";
const SELECTED = '[aria-selected="true"]';
const rows = (page) => page.locator('[role="treeitem"]').allInnerTexts();
const place = (page) => page.locator(SELECTED).getAttribute("data-place");
const detail = (page) => page.locator(".trace-detail").innerText();

/** Keys are listened to a moment after the first picture. */
async function drawn(page) {
  await page.waitForSelector('[role="treeitem"]');
  await settled(page);
}
async function opened(page, { base, facts }, more = "") {
  await page.goto(`${base}/trace/${facts.trace}${more}`);
  await drawn(page);
}
const stored = async ({ base, facts }) => (await fetch(`${base}/api/v1/traces/${facts.trace}`)).json();

/** Pixels of a colour (or of any) in a row of the waterfall; its sizes are in letters. */
async function pixelsInRow(page, row, color) {
  const letters = await page.evaluate(() => parseFloat(getComputedStyle(document.documentElement).fontSize));
  const [head, height] = [Math.round(letters * 2), Math.round(letters * 1.7)];
  return pixelsBetween(page, BARS, [head + row * height, height], color);
}

async function whatIsDrawn(page, told) {
  const trace = await stored(told);
  await opened(page, told);
  const texts = await rows(page);
  assert.ok(texts.length > 0 && texts.length < 60, `rows exist while they are in sight only: ${texts.length}`);
  const first = trace.spans.find((span) => span.parent_span_id === "") ?? trace.spans[0];
  assert.ok(texts[0].includes(first.operation), "the first row is the root");
  assert.ok((await pixelsInRow(page, 0)) > 500, "the root's bar is drawn");
  const marked = [];
  for (let row = 0; row < Math.min(texts.length, 12); ++row) marked.push(await pixelsInRow(page, row, "--critical"));
  assert.ok(Math.max(...marked) > 20, `the critical path is marked: ${marked}`);
  assert.match(await detail(page), /Where the time went/);
  assert.notEqual(
    trace.complete,
    await page.getByText("Not complete:").isVisible(),
    "an incomplete trace is said to be",
  );
  const evidence = await page.locator(".trace-head .evidence a").count();
  const captures = trace.captures.length;
  assert.equal(evidence, Math.min(captures, 7) + (trace.snapshots?.length ?? 0) + (captures > 0 ? 1 : 0));
}

async function theKeyboard(page, told) {
  const { spans } = await stored(told);
  await opened(page, told);
  await press(page, "j", "j");
  assert.equal(await place(page), "1", "j selects the next row");
  const kept = query(page, "span");
  assert.ok(kept, "and the address has it");
  await press(page, "c");
  assert.notEqual(query(page, "span"), kept, "c goes along the path");
  if (spans.some((span) => span.status === "error")) {
    await press(page, "e");
    assert.ok(await page.locator(".trace-detail .problem").isVisible(), "e goes to an error, and tells it");
  }
  const before = (await rows(page)).length;
  await press(page, "[");
  assert.ok((await rows(page)).length <= before, "[ folds a level");
  await press(page, "a");
  assert.ok((await rows(page)).length >= before, "a opens all");
  await press(page, "+", "+", "ArrowRight");
  assert.match(query(page, "at") ?? "", /^\d+-\d+$/, "+ and arrows choose a window of time");
  await press(page, "0");
  assert.equal(query(page, "at"), null, "0 shows all");
}

async function searching(page, told) {
  const { spans } = await stored(told);
  await opened(page, told);
  await press(page, "/");
  await page.keyboard.type(spans.at(-1).operation);
  await press(page, "Enter");
  assert.match(await page.locator(".hit-count").innerText(), /^\d+ of \d+$/, "Enter goes to a hit");
  await press(page, "Escape", "n");
  assert.match(await page.locator(".hit-count").innerText(), /^\d+ of \d+$/, "n goes to the next");
  await accessible(page, "with a selected span");
  await page.reload();
  await drawn(page);
  assert.equal(await page.locator(".search input").inputValue(), spans.at(-1).operation, "a reload brings it back");
  assert.equal(await page.locator(SELECTED).count(), 1);
  const follow = page.getByRole("button", { name: "Follow" });
  await follow.focus();
  await press(page, " ");
  assert.equal(await follow.getAttribute("aria-pressed"), "true", "Space presses a button that has the focus");
  await press(page, " ", "?");
  assert.match(await page.locator("dialog").innerText(), /next on the critical path/, "? shows the keys");
}

async function drag(page, from, to) {
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move(...to, { steps: 5 });
  await page.mouse.up();
  await settled(page);
}

async function thePointer(page, told) {
  await page.emulateMedia({ colorScheme: "dark" });
  await opened(page, told);
  const { x, y, width } = await page.locator(BARS).boundingBox();
  await page.mouse.click(x + width / 2, y + 28 + 24 * 1.5);
  await settled(page);
  assert.equal(await place(page), "1", "a click on a bar selects its row");
  await drag(page, [x + width / 4, y + 8], [x + width / 2, y + 8]);
  const chosen = query(page, "at");
  assert.ok(chosen, "dragging in the axis chooses a window");
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -100);
  await page.keyboard.up("Control");
  await settled(page);
  assert.notEqual(query(page, "at"), chosen, "the wheel with Ctrl goes closer");
  await page.mouse.dblclick(x + width / 2, y + 8);
  await settled(page);
  assert.equal(query(page, "at"), null, "a double click in the axis shows all");
  const map = await page.locator(".minimap").boundingBox();
  await drag(page, [map.x + map.width / 2, map.y + 10], [map.x + map.width * 0.75, map.y + 10]);
  assert.ok(query(page, "at"), "dragging in the small picture chooses a window");
}

async function narrow(page, told) {
  await page.setViewportSize({ width: 640, height: 480 });
  await opened(page, told);
  await fitsItsWindow(page);
}

/** A canvas that follows its own height grows with every frame. */
async function itStays(page, told) {
  await opened(page, told);
  const height = () => page.locator(BARS).evaluate((canvas) => canvas.height);
  for (const size of [
    { width: 1280, height: 900 },
    { width: 1279, height: 767 },
  ]) {
    await page.setViewportSize(size);
    await settled(page);
    const before = await height();
    await page.waitForTimeout(1000);
    assert.equal(await height(), before, "the bars stay as high as they are");
  }
}

/** 1280 by 720 at 200 %. */
async function lowWindow(page, told) {
  await page.setViewportSize({ width: 640, height: 360 });
  await opened(page, told);
  await press(page, "j", "j", "j");
  const { y, height } = await page.locator(SELECTED).boundingBox();
  assert.ok(y >= 0 && y + height <= 360, `the selected row is within the window: ${y}`);
}

async function whatIsWrong(page, { base }) {
  await page.route("**/api/v1/traces/**", (route) => route.fulfill({ json: brokenTrace() }));
  await page.goto(`${base}/trace/${"f".repeat(32)}?span=answer`);
  await drawn(page);
  const text = (await rows(page)).join("\n");
  assert.match(text, /parent\s+never\s+is not stored/, "a parent that is missing has a row");
  assert.equal(text.split("conflict").length, 3, "conflicting spans are both shown, and marked");
  assert.ok(text.includes("cycle") && text.includes("gnir"), "a cycle is cut, and marked");
  assert.match(await detail(page), /−5 ms ± 40 µs/, "the clock's offset and error are told");
  assert.match(await detail(page), /\+20,000,000 ns/, "it begins corrected");
  await press(page, "t");
  assert.match(await detail(page), /\+25,000,000 ns/, "t shows the times as they were sent");
  assert.equal(query(page, "time"), "sent");
  await accessible(page, "in a broken trace");
}

async function whatFails(page, { base, facts, may }) {
  may(/Failed to load resource/);
  await page.goto(`${base}/trace/${"0".repeat(31)}1`);
  assert.match(await page.getByRole("alert").innerText(), /no span of trace/, "an unknown trace: the server's words");
  await page.route("**/api/v1/traces/**", (route) => route.abort());
  await page.goto(`${base}/trace/${facts.trace}`);
  assert.match(await page.getByRole("alert").innerText(), /does not answer/, "a server that is away: the cure");
  await page.unroute("**/api/v1/traces/**");
  await page.getByRole("button", { name: "Try again" }).click();
  await drawn(page);
  assert.equal(await page.getByRole("alert").count(), 0, "and again when it is back");
}

async function theUsual(page, told) {
  await opened(page, told);
  await press(page, "u");
  await page.waitForSelector(".compared, .problem[role=alert]");
  assert.equal(query(page, "compare"), "usual");
  const field = page.getByPlaceholder(/another trace/);
  await field.fill("no id");
  assert.ok(await page.getByRole("button", { name: "Compare", exact: true }).isDisabled(), "what is no id");
  await field.fill(told.facts.other.slice(0, 12).toUpperCase());
  await page.keyboard.press("Enter");
  await page.waitForSelector(".sides");
  assert.equal(query(page, "compare"), told.facts.other.slice(0, 12), "any other by the beginning of its id");
}

async function comparing(page, { base, facts }) {
  await page.goto(`${base}/trace/${facts.trace}?compare=${facts.other}`);
  await page.waitForSelector(".compared tbody tr");
  assert.ok((await page.locator(".compared tbody tr").count()) > 1, "paths are compared");
  for (const key of ["s", "t"]) {
    await press(page, key);
    assert.ok(["self", "tree"].includes(query(page, "order")), `${key}: another order, in the address`);
  }
  await press(page, "Escape");
  assert.equal(query(page, "compare"), null, "Escape leads back");
}

export const checks = {
  "spans are drawn under one another": needing(["trace"], whatIsDrawn),
  "keys go through it": needing(["trace"], theKeyboard),
  "a search finds, and the address has it": needing(["trace"], searching),
  "the pointer chooses": needing(["trace"], thePointer),
  "it can be read at 200 %": needing(["trace"], narrow),
  "a low window scrolls to what is selected": needing(["trace"], lowWindow),
  "the bars do not grow": needing(["trace"], itStays),
  "what is wrong is said": whatIsWrong,
  "a server that fails is said to": needing(["trace"], whatFails),
  "a usual one is looked for": needing(["trace", "other"], theUsual),
  "two are compared": needing(["trace", "other"], comparing),
};
