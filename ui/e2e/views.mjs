// Every view, light and dark: accessible, within its window, and with nothing in the console. With FATHOM_E2E_SHOTS a
// picture of each is left in that folder, at 1280 and 2560 pixels, too.
import { settled } from "./browser.mjs";
import { accessible, fitsItsWindow } from "./looks.mjs";

const SHOTS = process.env["FATHOM_E2E_SHOTS"];

/** Addresses, by name; those whose data is not there are left out. */
function addresses({ range, trace, other, captured, capture, snapshot, incident }) {
  const past = incident && `from=${incident.from}&to=${incident.to}&zone=utc&service=${incident.service}`;
  return {
    explore: `/?${range}`,
    ...(past && { "explore-past": `/?${past}` }),
    services: `/services?${range}`,
    nodes: "/nodes",
    captures: "/captures",
    snapshots: "/snapshots",
    ...(trace && { trace: `/trace/${trace}` }),
    ...(trace && other && { compare: `/trace/${trace}?compare=${other}` }),
    ...(captured && { timeline: `/trace/${captured}/timeline` }),
    ...(capture && { capture: `/capture/${capture}` }),
    ...(snapshot && { snapshot: `/snapshot/${snapshot}` }),
  };
}

async function opened(page, address) {
  await page.goto(address);
  await page.locator("h1, main p").first().waitFor();
  await page.waitForLoadState("networkidle");
  await settled(page);
}

async function selected(page, name) {
  if (!name.startsWith("explore")) return;
  await page.getByRole("button", { name: "Slowest 1 %" }).click();
  await page.locator(".differences, .explore-differences p").first().waitFor();
  await page.waitForLoadState("networkidle");
  await settled(page);
}

async function pictures(page, name, scheme) {
  if (!SHOTS) return;
  for (const [width, height] of [
    [1280, 800],
    [2560, 1300],
  ]) {
    await page.setViewportSize({ width, height });
    await page.reload();
    await page.waitForLoadState("networkidle");
    await settled(page);
    await page.screenshot({ path: `${SHOTS}/${name}-${scheme}-${width}.png` });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

const inScheme =
  (colorScheme) =>
  async (page, { base, facts }) => {
    await page.emulateMedia({ colorScheme });
    for (const [name, path] of Object.entries(addresses(facts))) {
      await opened(page, base + path);
      await fitsItsWindow(page);
      await accessible(page, `in ${name}, ${colorScheme}`);
      await pictures(page, name, colorScheme);
      await selected(page, name);
      if (name.startsWith("explore")) await accessible(page, `in ${name}, ${colorScheme}, selected`);
      if (name.startsWith("explore")) await pictures(page, `${name}-selected`, colorScheme);
    }
  };

export const checks = {
  "are accessible in the light": inScheme("light"),
  "are accessible in the dark": inScheme("dark"),
};
