import { expect, it } from "vitest";
import { guessedText, shareRows, shareText } from "./time_share";

it("tells the greatest share first, and only what occurred", () => {
  expect(shareRows({ running_nano: 25, sleeping_nano: 75, stopped_nano: 0 })).toEqual([
    { state: "sleeping", nano: 75, share: 0.75, guessed: 0 },
    { state: "running", nano: 25, share: 0.25, guessed: 0 },
  ]);
  expect(shareRows({})).toEqual([]);
});

it("tells which part of a state was guessed", () => {
  const rows = shareRows({ running_nano: 400, running_guessed_nano: 120, sleeping_nano: 9, sleeping_guessed_nano: 9 });
  expect(rows.map(guessedText)).toEqual(["120 ns guessed", "guessed"]);
  expect(shareRows({ unknown_nano: 5 }).map(guessedText)).toEqual([""]);
});

it("tells of a sleep without a beginning what is known", () => {
  const rows = shareRows({ blocked_nano: 9, blocked_guessed_nano: 9 });
  expect(rows.map(guessedText)).toEqual(["beginning not seen"]);
});

it("tells nothing that occurred as nothing", () => {
  expect([1, 0.981, 0.019, 0.00004].map(shareText)).toEqual(["100 %", "98 %", "1.9 %", "< 0.1 %"]);
});
