import { describe, expect, it } from "vitest";
import { madeTrace } from "./made";
import { oversizedText } from "./oversized";

describe("the note of an oversized trace", () => {
  it("states the duration of the whole trace and how many spans are shown", () => {
    const answer = madeTrace(
      [
        { id: "a", from: 0, to: 10 },
        { id: "b", from: 5, to: 20 },
      ],
      { complete: false, oversized: true, spans_at_most: 9876543, duration_nano: 7.2e12, next_cursor: "c" },
    );
    const text = oversizedText(answer);
    expect(text).toContain("took 2 h");
    expect(text).toContain("at most 9,876,543 stored spans");
    expect(text).toContain("The first 2 are shown");
    expect(text).toContain(`fathom trace ${answer.trace_id}`);
  });
});
