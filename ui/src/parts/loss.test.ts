import { expect, it } from "vitest";
import { lossText } from "./loss";

it("tells losses in words, and those that are new here in their own", () => {
  expect(lossText({ name: "kernel_missed", count: 1200 })).toBe("1,200 events of the kernel that it did not tell");
  expect(lossText({ name: "kernel_missed", count: 1 })).toBe("one of the events of the kernel that it did not tell");
  expect(lossText({ name: "half_of_it", count: 3 })).toBe("3 half of it");
});
