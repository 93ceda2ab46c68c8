import { expect, it } from "vitest";
import { fitted, isQualified, shortened } from "./shortened";

const letters = (text: string) => text.length;

it("keeps the beginning and the end of what does not fit", () => {
  expect(shortened("checkout", 8, letters)).toBe("checkout");
  expect(shortened("orders-checkout-eu-1", 10, letters)).toBe("orders…u-1");
  expect(shortened("orders", 1, letters)).toBe("…");
  expect(shortened("WWWWWWWWWW", 60, (text) => text.length * 12)).toBe("WWW…W");
});

it("knows names of which the end tells them apart", () => {
  const qualified = ["shop.Currency/Convert", "/api/cart", "std::sort", "orders.eu-1"];
  expect(qualified.map(isQualified)).toEqual([true, true, true, true]);
  expect(["checkout", "GET /api/cart", "SELECT shop.users", "/", "cart."].map(isQualified)).toEqual([
    ...[false, false, false, false, false],
  ]);
});

it("cuts a qualified name in front", () => {
  expect(fitted("shop.Currency/Convert", 21)).toBe("shop.Currency/Convert");
  expect(fitted("shop.Currency/Convert", 17)).toBe("…Currency/Convert");
  expect(fitted("prepareOrderItems", 8)).toBe("prepare…");
});
