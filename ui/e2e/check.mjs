// Looks at the page in a browser: node e2e/check.mjs http://HOST:PORT [FACTS.json] [PART...]
//
// Any server will do that has spans of the last hour: what it has is asked, unless FACTS says it (facts.mjs). A check
// whose data is not there is skipped, and said to be. Parts: explore services trace timeline lists snapshot walks views; without
// any, all of them. Each check has a page of its own, of 1280 by 800; whatever the page logs fails it. Ends with 1 where
// something is not as it should be.
import assert from "node:assert/strict";
import { newPage } from "./activity.mjs";
import { launched, watched } from "./browser.mjs";
import { factsOf } from "./facts.mjs";

const PARTS = ["explore", "services", "trace", "timeline", "lists", "snapshot", "walks", "views"];
const [address = "http://127.0.0.1:7070", ...words] = process.argv.slice(2);
const base = address.replace(/\/$/, "");
const facts = await factsOf(
  base,
  words.find((word) => word.endsWith(".json")),
);
const wanted = words.filter((word) => !word.endsWith(".json"));
const unknown = wanted.find((word) => !PARTS.includes(word));
if (unknown) throw new Error(`there is no part '${unknown}'; there are ${PARTS.join(", ")}`);

const browser = await launched();
const counts = { passed: 0, failed: 0, skipped: 0 };

async function run(name, check) {
  const missing = (check.needs ?? []).find((fact) => !facts[fact]);
  if (missing) {
    ++counts.skipped;
    return console.log(`skip ${name}: this server has no ${missing}`);
  }
  const began = performance.now();
  const page = await newPage(browser, { viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(20_000);
  const watch = watched(page, base);
  try {
    await check(page, { base, facts, may: watch.may });
    assert.deepEqual(watch.problems, []);
    ++counts.passed;
    console.log(`ok   ${name} (${Math.round(performance.now() - began)} ms)`);
  } catch (error) {
    ++counts.failed;
    console.log(`FAIL ${name} at ${page.url()}\n${error.stack}\n${watch.problems.join("\n")}`);
  }
  await page.close();
}

for (const part of wanted.length > 0 ? wanted : PARTS) {
  const { checks } = await import(`./${part}.mjs`);
  for (const [name, check] of Object.entries(checks)) await run(`${part}: ${name}`, check);
}
await browser.close();
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
