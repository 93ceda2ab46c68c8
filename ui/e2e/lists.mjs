// The lists of captures and snapshots.
import assert from "node:assert/strict";
import { settled } from "./activity.mjs";
import { press, query } from "./browser.mjs";
import { needing } from "./facts.mjs";

const listed = (view) => async (page, told) => {
  await page.goto(`${told.base}/${view}`);
  await page.locator(".rows tbody tr").first().waitFor();
  await settled(page);
  await press(page, "j");
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`/${view.slice(0, -1)}/`));
};

export const checks = {
  "captures: j and Enter open the first": needing(["capture"], listed("captures")),
  "snapshots: j and Enter open the first": needing(["snapshot"], listed("snapshots")),

  "captures: a trigger and an order are one click, and in the address": needing(["capture"], async (page, { base }) => {
    await page.goto(`${base}/captures`);
    const triggers = page.getByRole("group", { name: "Trigger" }).getByRole("button");
    await triggers.nth(1).click();
    await settled(page);
    const trigger = query(page, "trigger");
    assert.ok(trigger);
    const named = await page.locator(".rows tbody tr td:nth-child(2)").allInnerTexts();
    assert.ok(named.length > 0 && named.every((text) => text === trigger), named.join());
    await page.getByRole("button", { name: "Window", exact: true }).click();
    await settled(page);
    assert.equal(query(page, "sort"), "window");
    assert.equal(await page.locator('th[aria-sort="descending"]').innerText(), "Window ↓");
  }),

  "the window is called as what it shows": async (page, { base }) => {
    await page.goto(`${base}/captures`);
    await page.waitForFunction(() => document.title === "Captures · fathom");
    await press(page, "1");
    await page.waitForFunction(() => document.title === "Explore · fathom");
  },
};
