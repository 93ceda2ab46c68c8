// What can be told of a page by looking at it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Asserts that axe finds no violation of its rules (WCAG and best practices), or of `rules` if given. */
export async function accessible(page, what = "", rules = undefined) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  // Without this, axe describes each element that is as it should be, too.
  const options = { resultTypes: ["violations"], ...(rules && { runOnly: rules }) };
  const { violations } = await page.evaluate((asked) => globalThis.axe.run(asked), options);
  const told = violations.map(({ id, nodes }) => {
    const where = nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary})`);
    return `${id}: ${where.slice(0, 3).join(" | ")}`;
  });
  assert.deepEqual(told, [], `axe finds something ${what}`);
}

/** How many pixels of a canvas are not clear, and how many different colours they have. */
export function drawnOn(page, selector) {
  return page
    .locator(selector)
    .first()
    .evaluate((canvas) => {
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

/** How many opaque pixels of a canvas between two heights (CSS pixels) are of a theme's colour, or of any. */
export function pixelsBetween(page, selector, [top, height], color) {
  return page
    .locator(selector)
    .first()
    .evaluate(
      (canvas, [from, high, name]) => {
        const probe = document.createElement("canvas").getContext("2d");
        probe.fillStyle = name ? getComputedStyle(document.documentElement).getPropertyValue(name).trim() : "#000";
        probe.fillRect(0, 0, 1, 1);
        const wanted = probe.getImageData(0, 0, 1, 1).data;
        const scale = devicePixelRatio;
        const { data } = canvas.getContext("2d").getImageData(0, from * scale, canvas.width, high * scale);
        let count = 0;
        for (let at = 0; at < data.length; at += 4) {
          const same = [0, 1, 2].every((part) => Math.abs(data[at + part] - wanted[part]) < 3);
          if (data[at + 3] === 255 && (!name || same)) count += 1;
        }
        return count;
      },
      [top, height, color],
    );
}

/** Nothing sticks out to the right of the window. */
export async function fitsItsWindow(page) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(wide <= 0, `${wide} pixels are beyond the right edge`);
}
