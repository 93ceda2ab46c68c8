// Tracks the pending requests and timers of a page. Checks continue when none is left, instead of after a fixed time that is
// long enough on the slowest machine.

// Longer timers belong to views that poll the server.
const MAX_TIMER_MS = 500;
const QUIET_MS = 100;
const SETTLE_TIMEOUT_MS = 60_000;

const traffic = new WeakMap();

/** A page of its own that is observed from its first request on. */
export async function newPage(browser, options = {}) {
  const page = await browser.newPage({ timezoneId: "UTC", ...options });
  const state = { open: new Set(), changes: 0 };
  traffic.set(page, state);
  const note = (change) => (request) => {
    change(request);
    state.changes++;
  };
  page.on(
    "request",
    note((request) => state.open.add(request)),
  );
  for (const end of ["requestfinished", "requestfailed"])
    page.on(
      end,
      note((request) => state.open.delete(request)),
    );
  await page.addInitScript(trackTimers, MAX_TIMER_MS);
  return page;
}

/** Runs before the page's own scripts. */
function trackTimers(longest) {
  const { setTimeout: set, clearTimeout: clear } = window;
  const timers = new Set();
  window.setTimeout = (callback, milliseconds = 0, ...words) => {
    const timer = set(() => {
      timers.delete(timer);
      callback(...words);
    }, milliseconds);
    if (milliseconds <= longest) timers.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => {
    timers.delete(timer);
    clear(timer);
  };
  window.pendingTimers = () => timers.size;
}

/** Runs in the page. Resolves when no timer is pending and neither the address nor the document has changed for a while. */
function untilQuiet([least, most]) {
  return new Promise((resolve) => {
    const begun = performance.now();
    let [changed, address] = [begun, location.href];
    const seen = new MutationObserver(() => (changed = performance.now()));
    seen.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const look = () => {
      const now = performance.now();
      if (location.href !== address || window.pendingTimers() > 0) [changed, address] = [now, location.href];
      if (now - changed < least && now - begun < most) return requestAnimationFrame(look);
      seen.disconnect();
      resolve(undefined);
    };
    look();
  });
}

/** Waits until the page has no pending request or timer and has not changed for QUIET_MS; canvases draw within that time. */
export async function settled(page) {
  const state = traffic.get(page);
  const end = performance.now() + SETTLE_TIMEOUT_MS;
  for (;;) {
    while (state.open.size > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
    // An answer may arrive and be drawn after the page was found quiet, so no request may begin or end meanwhile.
    const before = state.changes;
    await page.evaluate(untilQuiet, [QUIET_MS, SETTLE_TIMEOUT_MS]);
    if (state.open.size === 0 && state.changes === before) return;
    if (performance.now() > end)
      throw new Error(`the page is not settled after ${SETTLE_TIMEOUT_MS} ms: ${page.url()}`);
  }
}
