// What a stranger has to be able to do, from the first view on.
import assert from "node:assert/strict";
import { press, query, settled } from "./browser.mjs";
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
  await page.getByRole("button", { name: "Slowest 1 %" }).click();
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
  await page.keyboard.press("h");
  await page.keyboard.press("ArrowLeft"); // the slowest cell
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
  assert.ok(await page.locator(".timeline-details h2").innerText(), "something is chosen");
}

/** From the slowest request of the demo's shop to the snapshot of its instructions. */
async function toTheInstructions(page, told) {
  await opened(page, told, `service=${told.facts.recorded.service}`);
  await page.keyboard.press("j");
  const href = await page.evaluate(() => document.activeElement.getAttribute("href"));
  assert.match(href, /^\/trace\//);
  await page.goto(`${told.base}/trace/${told.facts.recorded.trace}`);
  await page.waitForSelector('[role="treeitem"]');
  await settled(page);
  await page.keyboard.press("i");
  await page.waitForURL(new RegExp(`/snapshot/${told.facts.recorded.snapshot}`));
  await page.locator("h1").waitFor();
  await settled(page);
}

export const checks = {
  "which customers were slow, and since which version": needing(["incident"], whichCustomersAndSinceWhen),
  "by keys alone": needing(["incident"], byKeysAlone),
  "from a slow request to what its threads did": needing(["captured"], toTheWaker),
  "from a slow request to its instructions": needing(["recorded"], toTheInstructions),
};
