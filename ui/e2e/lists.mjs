// The lists of captures and snapshots.
import assert from "node:assert/strict";
import { press, query, settled } from "./browser.mjs";
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

  "a filter is in the address": async (page, { base }) => {
    await page.goto(`${base}/captures`);
    await page.waitForSelector(".list-head");
    await page.selectOption("select", "crash");
    await settled(page);
    assert.equal(query(page, "trigger"), "crash");
    await page.locator(".rows tbody tr, main p").first().waitFor();
  },
};
