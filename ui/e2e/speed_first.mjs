// From navigation to the drawn heatmap, in a browser that has nothing of the page yet; and what that took over the wire.
import { createServer } from "node:http";
import { add, EMPTY_PAGE, median } from "./sample.mjs";

const WINDOW = { width: 1280, height: 800 };

/** In the page, from its beginning: when the canvas had something on it, and was then shown. */
function noteWhenDrawn(selector) {
  const look = () => {
    const canvas = document.querySelector(selector);
    const context = canvas?.width ? canvas.getContext("2d") : undefined;
    const data = context?.getImageData(0, 0, canvas.width, canvas.height).data;
    if (data?.some((value) => value > 0)) requestAnimationFrame(() => (globalThis.drawnAt = performance.now()));
    else requestAnimationFrame(look);
  };
  look();
}

/** Bytes over the wire until now, with heads: of the page, and of answers. */
async function wired(page) {
  const session = await page.context().newCDPSession(page);
  const [urls, bytes] = [new Map(), { page: 0, answers: 0 }];
  await session.send("Network.enable");
  session.on("Network.requestWillBeSent", ({ requestId, request }) => urls.set(requestId, request.url));
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    bytes[urls.get(requestId)?.includes("/api/") ? "answers" : "page"] += encodedDataLength;
  });
  return bytes;
}

async function once(browser, address, selector) {
  const context = await browser.newContext({ viewport: WINDOW, timezoneId: "UTC" });
  const page = await context.newPage();
  const bytes = await wired(page);
  await page.addInitScript(noteWhenDrawn, selector);
  await page.goto(address, { waitUntil: "commit" });
  await page.waitForFunction(() => globalThis.drawnAt, undefined, { timeout: 60_000 });
  const [took, answer] = await page.evaluate(() => [
    globalThis.drawnAt,
    performance.getEntriesByType("resource").find(({ name }) => name.includes("/api/v1/heatmap"))?.duration ?? 0,
  ]);
  const loaded = { ...bytes };
  await context.close();
  return { took, answer, bytes: loaded };
}

async function emptyServer() {
  const server = createServer((_, response) => {
    response.setHeader("Content-Type", "text/html").end(EMPTY_PAGE);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

export async function measureFirstView({ browser, base, range, times, told }) {
  const empty = await emptyServer();
  const [views, floors] = [[], []];
  await once(browser, `${base}/?${range}`, ".heatmap-cells"); // the first one also warms the server's caches
  for (let round = 0; round < times; ++round) {
    floors.push((await once(browser, empty.address, ".plain")).took);
    views.push(await once(browser, `${base}/?${range}`, ".heatmap-cells"));
  }
  empty.close();
  const took = median(views.map((view) => view.took));
  add(told, "ui.first_view_ms", took, `median of ${times}, from navigation to the drawn heatmap, nothing cached`);
  add(told, "ui.first_view_over_floor", took / median(floors), "over the floor of the same rounds");
  add(told, "ui.first_view_answer_ms", median(views.map((view) => view.answer)), "of it: the heatmap's answer");
  add(told, "floor.empty_page_ms", median(floors), "the same of a page that is one painted canvas");
  add(told, "ui.bundle_kb", median(views.map(({ bytes }) => bytes.page)) / 1000, "page, scripts, styles until then");
  add(told, "ui.first_view_answers_kb", median(views.map(({ bytes }) => bytes.answers)) / 1000, "answers until then");
}
