import { expect, it } from "vitest";
import { shortened } from "./shortened";

const letters = (text: string) => text.length;

it("keeps the beginning and the end of what does not fit", () => {
  expect(shortened("checkout", 8, letters)).toBe("checkout");
  expect(shortened("orders-checkout-eu-1", 10, letters)).toBe("orders…u-1");
  expect(shortened("orders", 1, letters)).toBe("…");
  expect(shortened("WWWWWWWWWW", 60, (text) => text.length * 12)).toBe("WWW…W");
});
