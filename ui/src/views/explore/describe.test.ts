import { expect, it } from "vitest";
import { describe as inWords, durationsText, sentence, timesText } from "./describe";
import { heatOf, tally } from "./heat";
import { selectionOf } from "./selection";

const heat = heatOf({
  ...{ start_time_unix_nano: "1795269600000000000", step_nano: 60e9, columns: 4, row_bounds_nano: [0, 1e6, 1e7, 1e8] },
  cells: [
    [1, 0, 5, 1],
    [2, 2, 1, 0],
  ],
  ...{ spans: 6, errors: 1, max_nano: 9e7, errors_exact: true },
});
const say = (exact: boolean, left: number, right: number, low: number, high: number) => {
  const box = { left, right, low, high };
  return sentence(inWords({ ...heat, errorsExact: exact }, selectionOf(heat, box), tally(heat, box), "utc"));
};

it("says when, how long, how many and how many failed", () => {
  expect(say(true, 1, 1, 0, 0)).toBe("14:01 – 14:02, up to 1 ms: 5 spans, 1 error (20 %)");
  expect(say(false, 1, 1, 0, 0)).toBe("14:01 – 14:02, up to 1 ms: 5 spans, about 1 error (20 %)");
  expect(say(true, 2, 3, 1, 2)).toBe("14:02 – 14:04, 1 ms – 100 ms: 1 span, no errors");
});

it("has as many digits as columns need", () => {
  const times = { from: 1795269600250000000n, to: 1795269600500000000n };
  expect(timesText(times, 250e6, "utc")).toBe("14:00:00.250 – 14:00:00.500");
  expect(timesText(times, 10e9, "utc")).toBe("14:00:00 – 14:00:00");
  expect(timesText(times, 7200e9, "utc")).toBe("11-21 14:00 – 11-21 14:00");
});

it("has dates where they differ", () => {
  const [from, hour] = [1795269600000000000n, 3_600_000_000_000n];
  const text = (hours: bigint, stepNano = 60e9) => timesText({ from, to: from + hours * hour }, stepNano, "utc");
  expect(text(9n)).toBe("14:00 – 23:00");
  expect(text(10n)).toBe("11-21 14:00 – 11-22 00:00");
  expect(text(24n)).toBe("11-21 14:00 – 11-22 14:00");
  expect(text(10n, 10e9)).toBe("11-21 14:00:00 – 11-22 00:00:00");
});

it("says that there is no upper bound", () => {
  expect(durationsText({ minNano: 5e6, maxNano: Number.MAX_SAFE_INTEGER })).toBe("5 ms and longer");
});
