// What the checks in Chromium share. They start no server: the page's address is the argument, or http://127.0.0.1:7070.
//
//     node e2e/explore.mjs http://127.0.0.1:7070
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const FLAGS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync"],
];

export const base = (process.argv[2] ?? "http://127.0.0.1:7070").replace(/\/$/, "");

/** Runs each check on a page of its own; a problem that the page logs fails the check, too. */
export async function run(checks) {
  const browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: FLAGS,
  });
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    const began = performance.now();
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, timezoneId: "UTC" });
    const problems = [];
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("request", (request) => {
      if (!request.url().startsWith(base)) problems.push(`asks another host: ${request.url()}`);
    });
    try {
      await check(page);
      assert.deepEqual(problems, []);
      console.log(`ok   ${name} (${Math.round(performance.now() - began)} ms)`);
    } catch (error) {
      ++failed;
      console.log(`FAIL ${name}\n${error.stack}`);
    }
    await page.close();
  }
  await browser.close();
  process.exitCode = failed > 0 ? 1 : 0;
}

/** No violation of WCAG or of good practice. */
export async function accessible(page) {
  const path = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
  await page.evaluate(await readFile(path, "utf8"));
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
  assert.deepEqual(told, []);
}

/** How many pixels of a canvas are not clear, and how many different colours they have. */
export async function drawnOn(page, selector) {
  return page.locator(selector).evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colors = new Set();
    let pixels = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] === 0) continue;
      ++pixels;
      colors.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    }
    return { pixels, colors: colors.size };
  });
}
