// The addresses of all views, of what a server has (facts.mjs), and what is done there before they are looked at.
import { settled } from "./activity.mjs";
import { press } from "./browser.mjs";

const SNAPSHOT_PARTS = ["calls", "functions", "sunburst", "syscalls", "delta", "diff", "stats"];
const PATTERNS = "&from=call&to=return";

function ofSnapshot(snapshot) {
  const parts = SNAPSHOT_PARTS.map((part) => [
    `snapshot-${part}`,
    `/snapshot/${snapshot}?show=${part}${part === "delta" ? PATTERNS : ""}`,
  ]);
  return {
    snapshot: `/snapshot/${snapshot}`,
    "snapshot-instant": `/snapshot/${snapshot}`,
    ...Object.fromEntries(parts),
  };
}

/** By name; those whose data is not there are left out. */
export function addresses({ range, trace, other, captured, capture, snapshot, recorded, incident }) {
  const past = incident && `from=${incident.from}&to=${incident.to}&zone=utc&service=${incident.service}`;
  return {
    explore: `/?${range}`,
    "explore-selected": `/?${range}`,
    "explore-keys": `/?${range}`,
    ...(past && { "explore-past": `/?${past}`, "explore-past-selected": `/?${past}` }),
    services: `/services?${range}`,
    nodes: "/nodes",
    captures: "/captures",
    snapshots: "/snapshots",
    ...(trace && { trace: `/trace/${trace}`, "trace-span": `/trace/${trace}` }),
    ...(trace && other && { compare: `/trace/${trace}?compare=${other}` }),
    ...(recorded && { "trace-recorded": `/trace/${recorded.trace}` }),
    ...(captured && { timeline: `/trace/${captured}/timeline`, "timeline-item": `/trace/${captured}/timeline` }),
    ...(capture && { capture: `/capture/${capture}` }),
    ...(snapshot && ofSnapshot(snapshot)),
    "no-trace": "/trace/00000000000000000000000000000001",
  };
}

/** What the console says where nothing is wrong but the address. */
export const provoked = (name) => (name === "no-trace" ? [/404 \(Not Found\)/] : []);

const SELECTS = {
  "explore-keys": (page) => press(page, "?"),
  "trace-span": (page) => press(page, "c", "c"),
  "timeline-item": (page) => press(page, "ArrowDown"),
  "snapshot-instant": (page) => press(page, "ArrowDown", "PageDown", "i"),
};

/** Chooses what the name says is chosen. */
export async function prepared(page, name) {
  if (name.startsWith("explore") && name.endsWith("selected")) {
    await page.getByRole("button", { name: /^Slowest \d/ }).click();
    await page.locator('.differences, .explore-differences p:not([role="status"])').first().waitFor();
    await settled(page);
  }
  await SELECTS[name]?.(page);
}
