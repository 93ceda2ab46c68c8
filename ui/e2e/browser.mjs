// The browser (Debian's chromium-headless-shell), and what is watched on every page that is opened in it.
import { chromium } from "playwright-core";
import { settled } from "./activity.mjs";

// No sandbox: tests run as root, too. Nothing of it calls home.
const FLAGS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync"],
];

export function launched() {
  return chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium-headless-shell",
    args: FLAGS,
  });
}

/**
 * Notes what no page may do: exceptions, words in the console (violations of the page's policy are such), requests to
 * another host. `may(pattern)` allows what a check provokes.
 */
export function watched(page, base) {
  // The checks' own reading of pictures is no fault of the page.
  const [problems, allowed] = [[], [/Multiple readback operations/]];
  const note = (what) => allowed.some((pattern) => pattern.test(what)) || problems.push(what);
  page.on("pageerror", (error) => note(`exception: ${error.message}`));
  page.on("console", (told) => ["error", "warning"].includes(told.type()) && note(`console: ${told.text()}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${base}/`) && !url.startsWith("data:") && !url.startsWith("blob:")) {
      note(`asks another host: ${url}`);
    }
  });
  return { problems, may: (pattern) => allowed.push(pattern) };
}

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));

/** Presses keys, one after the other, as soon as the one before is drawn, and waits for what they do. */
export async function press(page, ...keys) {
  for (const key of keys) {
    await page.keyboard.press(key);
    await page.evaluate(nextFrame);
  }
  await settled(page);
}

export const query = (page, name) => new URL(page.url()).searchParams.get(name);
