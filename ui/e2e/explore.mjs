// The explorer. Any spans will do: figures are read, not known.
import assert from "node:assert/strict";
import { query } from "./browser.mjs";
import { drawnOn, fitsItsWindow } from "./looks.mjs";

const at = ({ base, facts }, more = "") => `${base}/?${facts.range}${more && `&${more}`}`;
// Where it is known that the slowest have something that the others have not.
const incidentAt = ({ base, facts: { incident } }) =>
  `${base}/?from=${incident.from}&to=${incident.to}&zone=utc&service=${incident.service}`;

export const opened = (page, told, more = "") => openedAt(page, at(told, more));

async function openedAt(page, address) {
  await page.goto(address);
  await page.locator(".heatmap-cells").waitFor();
  await page.locator(".slow-list li").first().waitFor();
}

export async function dragged(page, from, to) {
  const box = await page.locator(".heatmap").boundingBox();
  const point = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
  await page.mouse.move(...point(from));
  await page.mouse.down();
  await page.mouse.move(...point(to), { steps: 5 });
  await page.mouse.up();
}

// All of the picture: whatever the spans are, something lies in it.
const drag = (page) => dragged(page, [0.09, 0.03], [0.98, 0.84]);

async function count(page, selector, least) {
  await page.waitForFunction(([sought, many]) => document.querySelectorAll(sought).length >= many, [selector, least]);
}

export const checks = {
  "asks for the heatmap before anything else, and draws it": async (page, told) => {
    const asked = [];
    page.on("request", (request) => request.url().includes("/api/v1/") && asked.push(new URL(request.url()).pathname));
    await opened(page, told);
    assert.equal(asked[0], "/api/v1/heatmap");
    const { pixels, colors } = await drawnOn(page, ".heatmap-cells");
    assert.ok(pixels > 500 && colors > 3, `${pixels} pixels in ${colors} colours`);
  },

  "a drag lists the slowest in it and says how they differ": async (page, told) => {
    await opened(page, told);
    await drag(page);
    await page.waitForURL(/sel_from=/);
    await page.locator(".slow-list li").first().waitFor();
    const href = await page.locator(".slow-list a").first().getAttribute("href");
    assert.match(href, /^\/trace\/[0-9a-f]{32}\?span=[0-9a-f]{16}(&|$)/);
    const marks = await drawnOn(page, ".heatmap-marks");
    assert.ok(marks.pixels > 100, "the selection is outlined");
    await page.getByRole("heading", { name: "How the selection differs" }).waitFor();
    await page.reload();
    await page.locator(".slow-list li").first().waitFor();
    assert.ok(query(page, "sel_from"), "a reload keeps the selection");
  },

  "slower spans come first": async (page, told) => {
    await opened(page, told);
    const shares = await page
      .locator(".slow-list a")
      .evaluateAll((rows) => rows.map((row) => Number(row.style.getPropertyValue("--share"))));
    assert.deepEqual(
      shares,
      [...shares].sort((one, other) => other - one),
    );
    assert.equal(shares[0], 1);
  },

  "the keyboard selects, zooms, undoes and clears": async (page, told) => {
    await opened(page, told);
    await page.keyboard.press("h");
    await page.locator("#heatmap-cell", { hasText: /span/ }).waitFor({ state: "attached" });
    await page.keyboard.press("Shift+ArrowLeft");
    await page.keyboard.press("Shift+ArrowLeft");
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/sel_from=/);
    await page.keyboard.press("z");
    await page.waitForURL(/outer=/);
    assert.equal(query(page, "sel_from"), null);
    await page.locator(".heatmap-cells").waitFor();
    await page.keyboard.press("u");
    await page.waitForURL((url) => !url.search.includes("outer="));
    assert.ok(query(page, "sel_from"), "what was selected is so again");
    await page.locator(".heatmap:not([data-busy='true']) .heatmap-cells").waitFor();
    await page.keyboard.press("h");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForURL(/sel_from=/);
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => !url.search.includes("sel_from"));
  },

  "the day around a selection has its durations, and is undone": async (page, told) => {
    const durations = () => ["sel_min", "sel_max"].map((word) => query(page, word));
    await opened(page, told, "zone=utc");
    await drag(page);
    await page.waitForURL(/sel_from=/);
    const [from, chosen] = [query(page, "sel_from"), durations()];
    await page.getByRole("button", { name: /^The day around it/ }).click();
    await page.waitForURL(/outer=/);
    assert.equal(query(page, "sel_from"), query(page, "from"));
    assert.equal(query(page, "sel_to"), query(page, "to"));
    assert.deepEqual(durations(), chosen);
    await page.keyboard.press("u");
    await page.waitForURL((url) => !url.search.includes("outer="));
    assert.equal(query(page, "sel_from"), from);
    await page.keyboard.press("d");
    await page.waitForURL(/outer=/);
    await page.getByRole("button", { name: "5m", exact: true }).click();
    await page.waitForURL(/since=5m/);
    assert.deepEqual(durations(), chosen, "another range keeps the durations");
  },

  "keys go on behind a click on a checkbox": async (page, told) => {
    await opened(page, told);
    await page.getByLabel("Errors only").focus();
    await page.keyboard.press("Space");
    await page.waitForURL(/errors=true/);
    await page.keyboard.press("e");
    await page.waitForURL((url) => !url.search.includes("errors="));
  },

  "what was kept of the slowest is chosen": async (page, told) => {
    await opened(page, told);
    for (const kept of ["captured", "recorded", "any"]) {
      await page.getByLabel("kept").selectOption({ value: kept });
      await page.waitForURL((url) => url.searchParams.get("kept") === kept);
      await page.locator(".slow-list[data-busy='false'], .explore-slow p.faint").first().waitFor();
    }
    await page.getByLabel("kept").selectOption({ label: "any" });
    await page.waitForURL((url) => !url.search.includes("kept="));
  },

  "j and Enter open a trace": async (page, told) => {
    await opened(page, told);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    const address = await page.evaluate(() => document.activeElement.getAttribute("href"));
    assert.equal(address, await page.locator(".slow-list a").first().getAttribute("href"));
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/trace\//);
  },

  "a click on a service narrows to it, and back again": async (page, told) => {
    await opened(page, told);
    const name = page.locator(".explore-table td.named button").first();
    const service = await name.innerText();
    await name.click();
    await page.waitForURL(/service=/);
    assert.equal(query(page, "service"), service);
    await page.getByRole("heading", { name: `Operations of ${service}` }).waitFor();
    await count(page, ".explore-table tbody tr", 1);
    await page.getByRole("button", { name: "All services" }).click();
    await page.waitForURL((url) => !url.search.includes("service="));
    await page.goBack();
    assert.equal(query(page, "service"), service);
  },

  "a difference becomes a condition": async (page, told) => {
    await openedAt(page, told.facts.incident ? incidentAt(told) : at(told));
    await page.getByRole("button", { name: /^Slowest \d/ }).click();
    await page.waitForURL(/sel_from=/);
    const row = page.locator(".differences .difference").first();
    await row.waitFor();
    await row.click();
    await page.waitForURL(/(service|operation|where|errors)=/);
  },

  "conditions complete keys and values": async (page, told) => {
    await opened(page, told);
    await page.keyboard.press("/");
    await count(page, "#condition-completions li", 1);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /=/.test(document.querySelector("#condition-completions li")?.textContent ?? ""));
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/where=/);
    assert.equal(await page.locator(".chip").count(), 1);
    await page.locator(".chip").click();
    await page.waitForURL((url) => !url.search.includes("where="));
  },

  "yesterday from two to three is two words": async (page, told) => {
    await opened(page, told, "zone=utc");
    await page.getByLabel("From").fill("yesterday 14:00");
    await page.getByLabel("to", { exact: true }).fill("15:00");
    await page.keyboard.press("Enter");
    await page.waitForURL(/from=/);
    assert.match(query(page, "from"), /T14:00:00Z$/);
    assert.match(query(page, "to"), /T15:00:00Z$/);
    await page.waitForFunction(() => /^\d{4}.*14:00$/.test(document.querySelector(".from-to input").value));
    await page.getByLabel("From").fill("soon");
    await page.keyboard.press("Enter");
    assert.match(await page.locator(".field-problem").innerText(), /is no time/);
  },

  "the time, the clock and the service go along to other views, and back": async (page, told) => {
    await page.goto(`${told.base}/?from=now-7h&to=now&zone=utc`);
    await page.locator(".explore-table td.named button").first().click();
    await page.waitForURL(/service=/);
    const service = query(page, "service");
    for (const [name, path] of [
      ["Captures", "/captures"],
      ["Services", "/services"],
      ["Explore", "/"],
    ]) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.waitForURL((url) => url.pathname === path);
      assert.deepEqual(
        ["since", "zone", "service"].map((word) => query(page, word)),
        ["7h", "utc", service],
      );
    }
    await page.locator(".slow-list a").first().click();
    await page.waitForURL(/\/trace\/.*zone=utc/);
    await page.keyboard.press("1");
    await page.waitForURL((url) => url.pathname === "/");
    assert.equal(query(page, "since"), "7h");
  },

  "says which words of the address it does not understand": async (page, told) => {
    await page.goto(`${told.base}/?from=banana`);
    assert.match(await page.locator(".range-picker .field-problem").innerText(), /banana.*last hour is shown/);
  },

  "a selection of another time is said to be that, and its range is a click away": async (page, told) => {
    await page.goto(at(told, "sel_from=2020-01-01T10:00:00Z&sel_to=2020-01-01T10:01:00Z&sel_min=1000&sel_max=9000000"));
    const notice = page.locator(".notice");
    assert.match(await notice.innerText(), /not in the range that is shown/);
    await notice.getByRole("button", { name: "Show its range" }).click();
    await page.waitForURL(/from=2020-01-01T09/);
    assert.equal(query(page, "sel_from"), "2020-01-01T10:00:00Z");
    await page.getByText("The newest span is of").waitFor();
    await page.getByRole("button", { name: "Show the time before that" }).click();
    await page.locator(".heatmap-cells").waitFor();
  },

  "lists each request once": async (page, told) => {
    await opened(page, told);
    await count(page, ".slow-list a", 2);
    const traces = await page
      .locator(".slow-list a")
      .evaluateAll((rows) => rows.map((row) => new URL(row.href).pathname));
    assert.equal(new Set(traces).size, traces.length);
  },

  "a condition that is none is refused beside the field": async (page, told) => {
    await opened(page, told);
    const field = page.getByRole("combobox", { name: /^Add a condition/ });
    await field.fill("tenant ~ acme");
    await field.press("Enter");
    assert.match(await page.locator(".condition-field .field-problem").innerText(), /no key/);
    assert.equal(query(page, "where"), null);
    await field.fill("  tenant = acme ");
    await field.press("Enter");
    await page.waitForURL(/where=tenant%3Dacme/);
    assert.equal(await page.locator("#condition-completions li").count(), 0, "the list is closed");
  },

  "an address that nothing is at leads on": async (page, told) => {
    told.may(/404 \(Not Found\)/);
    await page.goto(`${told.base}/nonsense`);
    await page.getByText("There is nothing at this address").waitFor();
    await page.locator("main").getByRole("link", { name: "Explore" }).click();
    await page.locator(".heatmap").waitFor();
  },

  "says what to do when the server is away": async (page, told) => {
    told.may(/Failed to load resource/);
    await page.route("**/api/v1/heatmap*", (route) => route.abort());
    await page.goto(at(told));
    const problem = page.getByRole("alert").first();
    await problem.waitFor();
    assert.match(await problem.innerText(), /does not answer/);
    await page.unroute("**/api/v1/heatmap*");
    await problem.getByRole("button", { name: "Try again" }).click();
    await page.locator(".heatmap-cells").waitFor();
  },

  "can be read at 200 %": async (page, told) => {
    await page.setViewportSize({ width: 640, height: 400 });
    await opened(page, told);
    await fitsItsWindow(page);
  },
};
