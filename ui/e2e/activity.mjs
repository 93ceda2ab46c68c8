// What a page still waits for: requests, and pauses after which it acts. Checks go on when there is nothing left, instead of
// after a time that is long enough on the slowest machine.

// Longer pauses belong to views that ask the server again and again.
const LONGEST_PAUSE_MS = 500;
const QUIET_MS = 100;
const LONGEST_MS = 5000;

const requests = new WeakMap();

/** A page of its own that is observed from its first request on. */
export async function newPage(browser, options = {}) {
  const page = await browser.newPage({ timezoneId: "UTC", ...options });
  const open = new Set();
  requests.set(page, open);
  page.on("request", (request) => open.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => open.delete(request));
  await page.addInitScript(countPauses, LONGEST_PAUSE_MS);
  return page;
}

/** Runs before the page's own scripts. */
function countPauses(longest) {
  const { setTimeout: set, clearTimeout: clear } = window;
  const pauses = new Set();
  window.setTimeout = (act, milliseconds = 0, ...words) => {
    const pause = set(() => {
      pauses.delete(pause);
      act(...words);
    }, milliseconds);
    if (milliseconds <= longest) pauses.add(pause);
    return pause;
  };
  window.clearTimeout = (pause) => {
    pauses.delete(pause);
    clear(pause);
  };
  window.pausesLeft = () => pauses.size;
}

/** In the page: resolves when no pause is left and neither the address nor the document has changed for a while. */
function quiet([least, most]) {
  return new Promise((resolve) => {
    const begun = performance.now();
    let [changed, address] = [begun, location.href];
    const seen = new MutationObserver(() => (changed = performance.now()));
    seen.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const look = () => {
      const now = performance.now();
      if (location.href !== address || window.pausesLeft() > 0) [changed, address] = [now, location.href];
      if (now - changed < least && now - begun < most) return requestAnimationFrame(look);
      seen.disconnect();
      resolve(undefined);
    };
    look();
  });
}

/** Waits until the page has no request and no pause left, and has not changed for a while; canvases draw within it. */
export async function settled(page) {
  const open = requests.get(page);
  const end = performance.now() + LONGEST_MS;
  do await page.evaluate(quiet, [QUIET_MS, LONGEST_MS]);
  while (open.size > 0 && performance.now() < end);
}
