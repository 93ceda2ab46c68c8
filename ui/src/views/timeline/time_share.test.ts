import { expect, it } from "vitest";
import { shareRows, shareText } from "./time_share";

it("tells the greatest share first, and only what occurred", () => {
  expect(shareRows({ running_nano: 25, sleeping_nano: 75, stopped_nano: 0 })).toEqual([
    { state: "sleeping", nano: 75, share: 0.75 },
    { state: "running", nano: 25, share: 0.25 },
  ]);
  expect(shareRows({})).toEqual([]);
});

it("tells nothing that occurred as nothing", () => {
  expect([1, 0.981, 0.019, 0.00004].map(shareText)).toEqual(["100 %", "98 %", "1.9 %", "< 0.1 %"]);
});
