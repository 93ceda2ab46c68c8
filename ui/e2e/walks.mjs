// What a stranger has to be able to do, from the first view on.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { settled } from "./activity.mjs";
import { press, query } from "./browser.mjs";
import { opened } from "./explore.mjs";
import { needing } from "./facts.mjs";

const differences = (page) => page.locator(".differences li").allInnerTexts();

/** "Yesterday between 14 and 15 h checkout was slow for some customers; which, and since which version?" */
async function whichCustomersAndSinceWhen(page, told) {
  const { service, customer, version, since } = told.facts.incident;
  await opened(page, told, "zone=utc");
  await page.getByLabel("From").fill("yesterday 14:00");
  await page.getByLabel("to", { exact: true }).fill("15:00");
  await page.keyboard.press("Enter");
  await page.waitForURL(/from=/);
  await page.getByRole("button", { name: service, exact: true }).click();
  await page.waitForURL(/service=/);
  await page.locator(".heatmap:not([data-busy='true']) .heatmap-cells").waitFor();
  await page.getByRole("button", { name: /^Slowest \d/ }).click();
  await page.locator(".differences[data-busy='false'] li").first().waitFor();
  const found = (await differences(page)).slice(0, 3).join("\n");
  assert.ok(found.includes(customer), `the customer is among the first three:\n${found}`);
  assert.ok(found.includes(version), `the version is, too:\n${found}`);
  const strip = page.locator(".strip", { hasText: version });
  await strip.waitFor();
  assert.ok((await strip.innerText()).includes(since), `since when: ${await strip.innerText()}`);
}

/** The same by keys alone: the range, the slow ones in the heatmap, the difference as a condition. */
async function byKeysAlone(page, told) {
  const { from, to, service, customer } = told.facts.incident;
  await page.goto(`${told.base}/?from=${from}&to=${to}&zone=utc&service=${service}`);
  await page.locator(".heatmap-cells").waitFor();
  await page.locator(".slow-list li").first().waitFor();
  await page.keyboard.press("h"); // the slowest cell
  for (let step = 0; step < 4; ++step) await page.keyboard.press("Shift+ArrowDown");
  for (let step = 0; step < 60; ++step) await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Enter");
  await page.waitForURL(/sel_from=/);
  await page.locator(".differences[data-busy='false'] li").first().waitFor();
  assert.ok((await differences(page)).join("\n").includes(customer));
  const button = page.locator("button.difference", { hasText: customer }).first();
  await button.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/where=/);
  assert.ok(query(page, "where").includes(customer));
}

/** From the slowest request to who let it wait: the timeline's longest wait, and the thread that ended it. */
async function toTheWaker(page, { base, facts }) {
  await page.goto(`${base}/trace/${facts.captured}`);
  await page.waitForSelector('[role="treeitem"]');
  await settled(page);
  await page.keyboard.press("o");
  await page.waitForURL(/\/timeline/);
  await page.waitForSelector(".timeline-surface canvas");
  await settled(page);
  await press(page, "ArrowDown");
  assert.ok(await page.locator(".timeline-details h2").first().innerText(), "something is chosen");
}

/** What is drawn of source: the line, its number and the file's name. */
async function lineOnScreen(page) {
  const line = page.locator(".flow-source-lines [aria-current]");
  await line.waitFor();
  await settled(page);
  assert.ok(await line.isVisible(), "the line is in sight");
  const file = await page.locator(".flow-source h2").innerText();
  return { file, text: await line.innerText() };
}

/** The shop holds a mutex while it writes its shelves to a file: examples/shop/shelves.cc, Shelves::snapshot(). */
async function isWhereTheLockWasHeld(page) {
  const source = await readFile(new URL("../../examples/shop/shelves.cc", import.meta.url), "utf8");
  const lines = source.split("\n");
  const begin = lines.findIndex((line) => line.startsWith("void Shelves::snapshot()"));
  const end = lines.indexOf("}", begin);
  const { file, text } = await lineOnScreen(page);
  const number = Number(/shelves\.cc:(\d+)/.exec(file)?.[1]);
  assert.ok(
    number > begin + 1 && number <= end,
    `${file} is within the function's body, from ${begin + 1} to ${end + 1}`,
  );
  const wanted = lines[number - 1].trim();
  assert.ok(text.includes(wanted), `the text is that of the line, "${wanted}": ${text}`);
  console.log(`     ${file}: ${wanted}`);
}

const slowest = (page) => page.locator(".slow-list li a").first();

async function tracesOfTheShop(page, told) {
  await opened(page, told, `service=${told.facts.recorded.service}`);
  await slowest(page).waitFor();
}

/** From the shop's slowest request to the line that held the lock: two clicks. */
async function toTheLineByMouse(page, told) {
  await tracesOfTheShop(page, told);
  await slowest(page).click();
  await page.waitForURL(/\/trace\//);
  await page.locator(".held-lock").click();
  await page.waitForURL(/\/snapshot\//);
  await isWhereTheLockWasHeld(page);
}

/** The same: three keys. */
async function toTheLineByKeys(page, told) {
  await tracesOfTheShop(page, told);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/trace\//);
  assert.match(
    await page.locator(".held-lock").innerText(),
    /waited for a lock .* that thread \d+ held, in .* at shelves\.cc:\d+/,
  );
  await page.keyboard.press("i");
  await page.waitForURL(/\/snapshot\//);
  await isWhereTheLockWasHeld(page);
}

/** Who opened the snapshot by itself is led there, too. */
async function fromTheSnapshotToTheLine(page, { base, facts }) {
  for (const show of [() => page.keyboard.press("l"), () => page.locator(".held-lock").click()]) {
    await page.goto(`${base}/snapshot/${facts.recorded.snapshot}`);
    await page.locator(".held-lock", { hasText: "shelves.cc" }).waitFor();
    await page.waitForSelector(".flow-row[aria-posinset]:not(.flow-row-waiting)");
    await show();
    await page.locator('.flow-row[aria-selected="true"]').waitFor();
    await isWhereTheLockWasHeld(page);
  }
}

export const checks = {
  "which customers were slow, and since which version": needing(["incident"], whichCustomersAndSinceWhen),
  "by keys alone": needing(["incident"], byKeysAlone),
  "from a slow request to what its threads did": needing(["captured"], toTheWaker),
  "from the slowest request to the line that held the lock, by mouse": needing(["recorded"], toTheLineByMouse),
  "from the slowest request to the line that held the lock, by keys": needing(["recorded"], toTheLineByKeys),
  "from a snapshot to the line that held the lock": needing(["recorded"], fromTheSnapshotToTheLine),
};
