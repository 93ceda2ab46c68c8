// Services and nodes, where services call one another.
import assert from "node:assert/strict";

const services = ({ base, facts }) => `${base}/services?${facts.range}`;

export const checks = {
  "the graph has a box for each service, and its edges are in the table": async (page, told) => {
    await page.goto(services(told));
    await page.locator(".calls tbody tr").first().waitFor();
    const boxes = await page.locator(".service").count();
    const names = await page
      .locator(".calls tbody tr")
      .evaluateAll((rows) => rows.flatMap((row) => [row.cells[0].textContent, row.cells[1].textContent]));
    assert.ok(boxes >= new Set(names).size, `${boxes} boxes for ${new Set(names).size} services`);
    assert.ok((await page.locator(".edge").count()) > 0);
  },

  "boxes do not overlap": async (page, told) => {
    await page.goto(services(told));
    await page.locator(".service").first().waitFor();
    const boxes = await page
      .locator(".service-box")
      .evaluateAll((all) =>
        all.map((box) => ["x", "y", "width", "height"].map((name) => Number(box.getAttribute(name)))),
      );
    boxes.forEach(([x, y, width, height], first) => {
      for (const [left, top] of boxes.slice(first + 1)) {
        assert.ok(Math.abs(left - x) >= width || Math.abs(top - y) >= height);
      }
    });
  },

  "the keyboard goes through the graph into the explorer": async (page, told) => {
    await page.goto(services(told));
    await page.locator(".service").first().waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("ArrowRight");
    const service = await page.evaluate(() => document.activeElement.getAttribute("data-service"));
    assert.ok(service);
    assert.ok((await page.locator('.edge[data-near="true"]').count()) > 0);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/\?.*service=/);
    await page.locator(".heatmap-cells").waitFor();
  },

  "rows sort, and the order is in the address": async (page, told) => {
    await page.goto(services(told));
    await page.locator(".calls").waitFor();
    await page.getByRole("button", { name: "Errors" }).click();
    await page.waitForURL(/sort=errorShare/);
    assert.equal(await page.locator('th[aria-sort="descending"]').innerText(), "Errors ↓");
  },

  "nodes are listed, or it is said why there are none": async (page, told) => {
    await page.goto(`${told.base}/nodes`);
    await page.locator(".nodes-table tbody tr, main p").first().waitFor();
  },
};
