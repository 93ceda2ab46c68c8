// Leaves a picture of every view, light and dark, at 1280 and 2560 pixels, for people to look at:
//
//     node e2e/shots.mjs http://HOST:PORT DIR [FACTS.json] [NAME...]
//
// What the server has is asked, unless FACTS says it (facts.mjs); NAMEs choose among the views. Each picture is
// DIR/NAME-SCHEME-WIDTH.png. Ends with 1 where a view logged something, or could not be shown.
import { mkdir } from "node:fs/promises";
import { newPage, settled } from "./activity.mjs";
import { addresses, prepared, provoked } from "./addresses.mjs";
import { launched, watched } from "./browser.mjs";
import { factsOf } from "./facts.mjs";

const [address = "http://127.0.0.1:7070", directory = "shots", ...words] = process.argv.slice(2);
const base = address.replace(/\/$/, "");
const facts = await factsOf(
  base,
  words.find((word) => word.endsWith(".json")),
);
const wanted = words.filter((word) => !word.endsWith(".json"));
const SIZES = [
  [1280, 800],
  [2560, 1300],
];
let problems = 0;

async function picture(page, name, path, scheme, [width, height]) {
  await page.setViewportSize({ width, height });
  await page.goto(base + path);
  await page.locator("h1, main p, main table").first().waitFor();
  await settled(page);
  // A server that is busy may take longer than that.
  await page.waitForFunction(() => !document.querySelector('p[role="status"]')?.textContent?.endsWith("…"));
  await prepared(page, name);
  await page.screenshot({ path: `${directory}/${name}-${scheme}-${width}.png` });
}

async function inScheme(browser, scheme) {
  for (const [name, path] of Object.entries(addresses(facts))) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const page = await newPage(browser, { colorScheme: scheme });
    page.setDefaultTimeout(30_000);
    const watch = watched(page, base);
    provoked(name).forEach(watch.may);
    for (const size of SIZES) {
      await picture(page, name, path, scheme, size).catch((error) => watch.problems.push(error.message));
    }
    problems += watch.problems.length;
    if (watch.problems.length > 0) console.log(`${name}, ${scheme}: ${watch.problems.join("\n")}`);
    await page.close();
  }
}

await mkdir(directory, { recursive: true });
const browser = await launched();
for (const scheme of ["light", "dark"]) await inScheme(browser, scheme);
await browser.close();
process.exitCode = problems > 0 ? 1 : 0;
