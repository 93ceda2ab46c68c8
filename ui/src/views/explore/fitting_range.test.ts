import { describe, expect, it } from "vitest";
import { fittingRange, saysTime } from "./fitting_range";
import { heatOf } from "./heat";

const MINUTE = 60_000_000_000n;
const NOW = 1_795_269_600_000_000_000n;

/** An hour by columns of a minute; one span in each of `minutes` ago. */
function heatWith(...minutes: number[]) {
  return heatOf({
    ...{ start_time_unix_nano: (NOW - 60n * MINUTE).toString(), step_nano: Number(MINUTE), columns: 60 },
    ...{ row_bounds_nano: [0, 1000], spans: minutes.length, errors: 0, errors_exact: true, max_nano: 1000 },
    cells: minutes.map((ago) => [60 - ago, 0, 1, 0]),
  } as never);
}

describe("fittingRange", () => {
  it.each([
    [[2, 1], "5m"],
    [[5], "5m"],
    [[6, 1], "15m"],
    [[15, 3], "15m"],
  ])("of spans of %j minutes ago is %s", (minutes, since) => {
    expect(fittingRange({ since: "1h" }, heatWith(...minutes), NOW)).toEqual({ since });
  });

  it("stays where spans are older, and where there are none", () => {
    expect(fittingRange({ since: "1h" }, heatWith(16, 1), NOW)).toBeUndefined();
    expect(fittingRange({ since: "1h" }, heatWith(), NOW)).toBeUndefined();
  });

  it("stays where the range is told", () => {
    expect(fittingRange({ from: NOW - 60n * MINUTE, to: NOW }, heatWith(1), NOW)).toBeUndefined();
    expect(saysTime({ since: "1h" })).toBe(true);
    expect(saysTime({ service: "cart" })).toBe(false);
  });
});
