// What the trace view draws and does, in a browser: node e2e/trace.mjs http://HOST:PORT TRACE_ID [OTHER_TRACE_ID]
//
// The trace should have some spans, an error and a repeated operation (as e2e/make_trace.mjs makes it); of what it does
// not have, nothing is asked. Ends with 1 where something is not as it should be.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const [address, id, otherId] = process.argv.slice(2);
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"].concat(
    ["--disable-component-update", "--disable-sync"],
  ),
});
const trace = await (await fetch(`${address}/api/v1/traces/${id}`)).json();
let failures = 0;
const check = (what, right, detail = "") => {
  if (!right) failures += 1;
  console.log(`${right ? "ok  " : "FAIL"} ${what}${detail === "" ? "" : `: ${detail}`}`);
};

async function open(path, { dark = false, width = 1280, height = 800, prepare } = {}) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
  page.on("pageerror", (error) => check("no exception", false, error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(address)) check("no request to another host", false, request.url());
  });
  await prepare?.(page);
  await page.goto(`${address}${path}`);
  return page;
}
const settled = (page) => page.waitForTimeout(350);
const query = (page, name) => new URL(page.url()).searchParams.get(name);
const rows = (page) => page.locator('[role="treeitem"]').allInnerTexts();
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
};
/** Keys are listened to a moment after the first picture. */
async function drawn(page) {
  await page.waitForSelector('[role="treeitem"]');
  await settled(page);
}

async function accessible(page, what) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run());
  check(
    `axe finds nothing ${what}`,
    found.violations.length === 0,
    found.violations.map((v) => `${v.id} ${v.nodes[0]?.html} ${v.nodes[0]?.failureSummary}`).join("; "),
  );
}

/** How many pixels of a canvas are of a theme's colour (or of any, where none is named), in a row of the waterfall. */
function pixels(page, { row, color }) {
  return page.evaluate(
    ([row, color]) => {
      const canvas = document.querySelector(".waterfall-bars");
      const scale = devicePixelRatio;
      const letters = parseFloat(getComputedStyle(document.documentElement).fontSize);
      const [head, height] = [Math.round(letters * 2), Math.round(letters * 1.7)];
      const probe = document.createElement("canvas").getContext("2d");
      probe.fillStyle = color ? getComputedStyle(document.documentElement).getPropertyValue(color).trim() : "#000";
      probe.fillRect(0, 0, 1, 1);
      const wanted = probe.getImageData(0, 0, 1, 1).data;
      const { data } = canvas
        .getContext("2d")
        .getImageData(0, (head + row * height) * scale, canvas.width, height * scale);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        const same = [0, 1, 2].every((part) => Math.abs(data[at + part] - wanted[part]) < 3);
        if (data[at + 3] === 255 && (!color || same)) count += 1;
      }
      return count;
    },
    [row, color],
  );
}

async function whatIsDrawn() {
  const page = await open(`/trace/${id}`);
  await drawn(page);
  await settled(page);
  const texts = await rows(page);
  check("rows exist while they are in sight only", texts.length > 0 && texts.length < 60, texts.length);
  const first = trace.spans.find((span) => span.parent_span_id === "") ?? trace.spans[0];
  check("the first row is the root", texts[0].includes(first.name ?? first.operation), texts[0]);
  check("the root's bar is drawn", (await pixels(page, { row: 0 })) > 500);
  const marked = [];
  for (let row = 0; row < Math.min(texts.length, 12); ++row)
    marked.push(await pixels(page, { row, color: "--critical" }));
  check(
    "the critical path is marked",
    marked.some((count) => count > 20),
    marked.join(" "),
  );
  check("where the time went is told", /Where the time went/.test(await page.locator(".trace-detail").innerText()));
  check("an incomplete trace is said to be", trace.complete !== (await page.getByText("Not complete:").isVisible()));
  const evidence = await page.locator(".trace-head .evidence a").count();
  const kept =
    Math.min(trace.captures.length, 7) + (trace.snapshots?.length ?? 0) + (trace.captures.length > 0 ? 1 : 0);
  check("captures and snapshots are offered", evidence === kept, `${evidence} of ${kept}`);
  await accessible(page, "in the light");
  await page.close();
}

async function theKeyboard() {
  const page = await open(`/trace/${id}`);
  await drawn(page);
  await press(page, "j", "j");
  check(
    "j selects the next row, and the address has it",
    (await page.locator('[aria-selected="true"]').getAttribute("data-place")) === "1",
    query(page, "span"),
  );
  const kept = await page.evaluate(() => location.href);
  await press(page, "c");
  check("c goes along the path", query(page, "span") !== new URL(kept).searchParams.get("span"));
  if (trace.spans.some((span) => span.status === "error")) {
    await press(page, "e");
    check("e goes to an error, and tells it", await page.locator(".trace-detail .problem").isVisible());
  }
  const before = (await rows(page)).length;
  await press(page, "[");
  check("[ folds a level", (await rows(page)).length <= before);
  await press(page, "a");
  check("a opens all", (await rows(page)).length >= before);
  await press(page, "+", "+", "ArrowRight");
  check("+ and arrows choose a window of time", /^\d+-\d+$/.test(query(page, "at") ?? ""), query(page, "at"));
  await press(page, "0");
  check("0 shows all", query(page, "at") === null);
  await press(page, "/");
  await page.keyboard.type(trace.spans.at(-1).operation);
  await press(page, "Enter");
  const count = await page.locator(".hit-count").innerText();
  check("a search counts, and Enter goes to a hit", /^\d+ of \d+$/.test(count), count);
  await press(page, "Escape", "n");
  check("n goes to the next", /^\d+ of \d+$/.test(await page.locator(".hit-count").innerText()));
  await accessible(page, "with a selected span");
  await page.reload();
  await drawn(page);
  check(
    "the address brings all of it back",
    (await page.locator(".search input").inputValue()) === trace.spans.at(-1).operation &&
      (await page.locator('[aria-selected="true"]').count()) === 1,
  );
  const follow = page.getByRole("button", { name: "Follow" });
  await follow.focus();
  await press(page, " ");
  check("Space presses a button that has the focus", (await follow.getAttribute("aria-pressed")) === "true");
  await press(page, " ", "?");
  check("? shows the keys", /next on the critical path/.test(await page.locator("dialog").innerText()));
  await page.close();
}

async function thePointer() {
  const page = await open(`/trace/${id}`, { dark: true });
  await drawn(page);
  await settled(page);
  const box = await page.locator(".waterfall-bars").boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + 28 + 24 * 1.5);
  await settled(page);
  check(
    "a click on a bar selects its row",
    (await page.locator('[aria-selected="true"]').getAttribute("data-place")) === "1",
  );
  await page.mouse.move(box.x + box.width / 4, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + 8, { steps: 5 });
  await page.mouse.up();
  await settled(page);
  const chosen = query(page, "at");
  check("dragging in the axis chooses a window", chosen !== null, chosen);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -100);
  await page.keyboard.up("Control");
  await settled(page);
  check("the wheel with Ctrl goes closer", query(page, "at") !== chosen, query(page, "at"));
  await page.mouse.dblclick(box.x + box.width / 2, box.y + 8);
  await settled(page);
  check("a double click in the axis shows all", query(page, "at") === null);
  const map = await page.locator(".minimap").boundingBox();
  await page.mouse.move(map.x + map.width / 2, map.y + 10);
  await page.mouse.down();
  await page.mouse.move(map.x + map.width * 0.75, map.y + 10, { steps: 5 });
  await page.mouse.up();
  await settled(page);
  check("dragging in the small picture chooses a window", query(page, "at") !== null, query(page, "at"));
  await accessible(page, "in the dark");
  await page.close();
}

async function narrow() {
  const page = await open(`/trace/${id}`, { width: 640, height: 480 });
  await drawn(page);
  await settled(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check("at 200 % nothing sticks out", wide <= 0, wide);
  await accessible(page, "at 200 %");
  await page.close();
}

/** A trace of which everything is wrong that can be. */
function brokenTrace() {
  const origin = 1795221003123456789n;
  const span = (spanId, parent, from, to, more = {}) => ({
    ...{
      span_id: spanId,
      parent_span_id: parent,
      service: "shop",
      operation: spanId,
      kind: "internal",
      status: "unset",
    },
    ...{ start_time_unix_nano: (origin + BigInt(from)).toString(), duration_nano: to - from },
    ...{ attributes: {}, events: [], links: [], resource: 0, scope: 0 },
    ...more,
  });
  const clock = { offset_nano: -5_000_000, error_nano: 40_000 };
  const spans = [
    span("root", "", 0, 100e6),
    span("call", "root", 10e6, 90e6, { kind: "client" }),
    span("answer", "call", 25e6, 85e6, {
      kind: "server",
      resource: 1,
      clock,
      corrected_start_time_unix_nano: (origin + 20_000_000n).toString(),
    }),
    span("twice", "root", 30e6, 40e6, { conflicting: true }),
    span("twice", "root", 50e6, 60e6, { conflicting: true }),
    span("orphan", "never", 20e6, 30e6),
    span("ring", "gnir", 40e6, 50e6),
    span("gnir", "ring", 41e6, 49e6),
  ];
  const resource = { service: "shop", attributes: {} };
  const scope = { name: "", version: "", attributes: {} };
  return {
    trace_id: "f".repeat(32),
    start_time_unix_nano: origin.toString(),
    duration_nano: 100e6,
    complete: false,
    spans,
    resources: [resource, { ...resource, service: "far" }],
    scopes: [scope],
    captures: [],
  };
}

async function whatIsWrong() {
  const answer = { body: JSON.stringify(brokenTrace()), contentType: "application/json" };
  const prepare = (page) => page.route("**/api/v1/traces/**", (route) => route.fulfill(answer));
  const page = await open(`/trace/${"f".repeat(32)}?span=answer`, { prepare });
  await drawn(page);
  const text = (await rows(page)).join("\n");
  check("a parent that is missing has a row", /parent\s+never\s+is not stored/.test(text));
  check("conflicting spans are both shown, and marked", text.split("conflict").length === 3);
  check("a cycle is cut, and marked", text.includes("cycle") && text.includes("gnir"));
  const detail = () => page.locator(".trace-detail").innerText();
  check("the clock's offset and error are told", /−5 ms ± 40 µs/.test(await detail()));
  check("it begins corrected", /\+20,000,000 ns/.test(await detail()));
  await press(page, "t");
  check(
    "t shows the times as they were sent",
    /\+25,000,000 ns/.test(await detail()) && query(page, "time") === "sent",
  );
  await accessible(page, "in a broken trace");
  await page.close();
}

async function whatFails() {
  const unknown = await open(`/trace/${"0".repeat(31)}1`);
  await unknown.waitForSelector('[role="alert"]');
  check(
    "an unknown trace: the server's words",
    /no span of trace/.test(await unknown.locator('[role="alert"]').innerText()),
  );
  await unknown.close();
  let away = true;
  const prepare = (page) => page.route("**/api/v1/traces/**", (route) => (away ? route.abort() : route.continue()));
  const page = await open(`/trace/${id}`, { prepare });
  await page.waitForSelector('[role="alert"]');
  check("a server that is away: the cure", /does not answer/.test(await page.locator('[role="alert"]').innerText()));
  away = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await drawn(page);
  check("and again when it is back", (await page.locator('[role="alert"]').count()) === 0);
  await page.close();
}

async function comparing() {
  const page = await open(`/trace/${id}`);
  await drawn(page);
  await press(page, "u");
  await page.waitForSelector(".compared, .trace-toolbar [role=alert]", { timeout: 60000 });
  const found = await page.locator(".compared").count();
  check(
    "a usual trace is looked for",
    true,
    found ? query(page, "compare") : await page.locator("[role=alert]").innerText(),
  );
  await page.goto(`${address}/trace/${id}?compare=${otherId ?? id}`);
  await page.waitForSelector(".compared tbody tr");
  check("paths are compared", (await page.locator(".compared tbody tr").count()) > 1);
  for (const key of ["s", "t"]) {
    await press(page, key);
    check(`${key}: another order, in the address`, ["self", "tree"].includes(query(page, "order")));
  }
  await accessible(page, "in a comparison");
  await press(page, "Escape");
  check("Escape leads back", query(page, "compare") === null);
  await page.close();
}

for (const part of [whatIsDrawn, theKeyboard, thePointer, narrow, whatIsWrong, whatFails, comparing]) {
  try {
    await part();
  } catch (problem) {
    check(part.name, false, problem instanceof Error ? problem.message : String(problem));
  }
}
await browser.close();
console.log(failures === 0 ? "all as it should be" : `${failures} are not as they should be`);
process.exit(failures === 0 ? 0 : 1);
