// Every view, light and dark: accessible, and within its window. shots.mjs leaves pictures of the same ones.
import { settled } from "./activity.mjs";
import { addresses, prepared, provoked } from "./addresses.mjs";
import { accessible, fitsItsWindow } from "./looks.mjs";

async function opened(page, address) {
  await page.goto(address);
  await page.locator("h1, main p").first().waitFor();
  await settled(page);
}

export const checks = {
  "are accessible, light and dark": async (page, { base, facts, may }) => {
    for (const [name, path] of Object.entries(addresses(facts))) {
      provoked(name).forEach(may);
      await page.emulateMedia({ colorScheme: "light" });
      await opened(page, base + path);
      await prepared(page, name);
      await fitsItsWindow(page);
      await accessible(page, `in ${name}, light`);
      // The dark scheme changes colours only, so only the contrast is checked again.
      await page.emulateMedia({ colorScheme: "dark" });
      await settled(page);
      await accessible(page, `in ${name}, dark`, ["color-contrast"]);
    }
  },
};
