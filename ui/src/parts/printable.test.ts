import { expect, it } from "vitest";
import { printable } from "./printable";

it("tells what does not show, or shows otherwise, by its number", () => {
  expect(printable("\u202eevil")).toBe("\\u{202e}evil");
  expect(printable("a\u200bb\u0007c\u{e0041}")).toBe("a\\u{200b}b\\u{7}c\\u{e0041}");
});

it("leaves all else, lines and tabs too", () => {
  for (const text of ["GET /cart", "é中文😀", "one\ntwo\tthree", ""]) expect(printable(text)).toBe(text);
});
