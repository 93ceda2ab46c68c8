import { describe, expect, it } from "vitest";
import { heatOf } from "./heat";
import { heldBy, rangeAround, selectionHead } from "./selection_words";
import { readWords, type Selection } from "./words";

const TWO = 1795269600000000000n;
const MINUTE = 60_000_000_000n;
const heat = heatOf({
  ...{ start_time_unix_nano: TWO.toString(), end_time_unix_nano: (TWO + 10n * MINUTE).toString(), step_nano: 60e9 },
  ...{ columns: 10, row_bounds_nano: [0, 1e6, 1e7, 1e8], cells: [[2, 1, 5, 0]], spans: 5, errors: 0 },
  ...{ errors_exact: true, max_nano: 1e7 },
});
const at = (minute: bigint, minutes: bigint, maxNano = 1e7): Selection => ({
  ...{ from: TWO + minute * MINUTE, to: TWO + (minute + minutes) * MINUTE },
  ...{ minNano: maxNano / 10 + 1, maxNano },
});

describe("a selection", () => {
  it("holds something where spans lie in it", () => expect(heldBy(heat, at(1n, 3n))).toBe("something"));
  it("holds nothing where none do, or the server found none", () => {
    expect(heldBy(heat, at(4n, 3n))).toBe("nothing");
    expect(heldBy(heat, at(1n, 3n, 1e10))).toBe("nothing");
    expect(heldBy(heat, at(1n, 3n), 0)).toBe("nothing");
  });
  it("may be of another time", () => {
    expect(heldBy(heat, at(-60n, 10n))).toBe("elsewhere");
    expect(heldBy(heat, at(10n, 10n))).toBe("elsewhere");
  });
  it("is told without seconds where it has none", () => {
    const words = readWords({ zone: "utc" });
    const say = (selection: Selection) => selectionHead({ ...words, selection }, { ...heat, stepNano: 30e9 });
    expect(say(at(1n, 3n))).toBe("14:01 – 14:04, 1 ms – 10 ms");
    expect(say({ ...at(1n, 3n), from: TWO + MINUTE / 2n })).toBe("14:00:30 – 14:04:00, 1 ms – 10 ms");
    expect(selectionHead(words, heat)).toBe("of all that is shown");
  });
  it("is in the middle of its range, which does not go beyond now", () => {
    const later = TWO + 1000n * MINUTE;
    expect(rangeAround(at(10n, 10n), { since: "1h" }, later)).toEqual({
      from: TWO - 15n * MINUTE,
      to: TWO + 45n * MINUTE,
    });
    expect(rangeAround(at(10n, 10n), { since: "15m" }, later)).toEqual({ from: TWO, to: TWO + 30n * MINUTE });
    const soon = TWO + 25n * MINUTE;
    expect(rangeAround(at(10n, 10n), { since: "1h" }, soon)).toEqual({ from: TWO - 15n * MINUTE, to: soon });
  });
});
