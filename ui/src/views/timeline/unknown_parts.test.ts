import { expect, it } from "vitest";
import type { TimelineCapture } from "@/api/generated/answers";
import { partOver, unknownOfEvents, unknownOfKernel, whyHatched } from "./unknown_parts";
import { captureOf } from "./testing";

const bounds = { begin: 0, duration: 1000 };
const shape = (captures: readonly TimelineCapture[]) =>
  unknownOfKernel(captures, bounds).map(({ begin, end, outside }) => [begin, end, outside]);

it("knows nothing outside of windows, and not all before the recorder is complete", () => {
  const capture = captureOf({ offset_nano: 100, duration_nano: 500, kernel_complete_from_offset_nano: 300 });
  expect(shape([capture])).toEqual([
    [0, 100, true],
    [100, 300, false],
    [600, 1000, true],
  ]);
});

it("takes what another capture of the process has completely", () => {
  const one = captureOf({ offset_nano: 0, duration_nano: 1000, kernel_complete_from_offset_nano: 600 });
  const other = captureOf({ offset_nano: 100, duration_nano: 400, kernel_complete_from_offset_nano: 100 });
  expect(shape([one, other])).toEqual([
    [0, 100, false],
    [500, 600, false],
  ]);
});

it("says why nothing of the kernel was recorded, and what is known of events all the same", () => {
  const { kernel_complete_from_offset_nano: _, ...without } = captureOf({ offset_nano: 0, duration_nano: 1000 });
  const parts = unknownOfKernel([{ ...without, kernel_missing: "no permission" }], bounds);
  expect(partOver(parts, 500)?.why).toContain("no permission");
  expect(unknownOfEvents([without], bounds)).toEqual([]);
});

it("tells that nothing was captured at all", () => {
  expect(shape([])).toEqual([[0, 1000, true]]);
});

it("tells all that is hatched, each stretch once", () => {
  const [one, two] = [
    { begin: 5, end: 9, why: "lost", outside: false },
    { begin: 0, end: 4, why: "lost", outside: false },
  ];
  const lanes = [{ tracks: [{ unknown: [one, two] }, { unknown: [one] }] }];
  const model = { processes: [{ lanes }, { lanes: [] }] } as unknown as Parameters<typeof whyHatched>[0];
  const stretches = [
    { begin: 0, end: 4 },
    { begin: 5, end: 9 },
  ];
  expect(whyHatched(model)).toEqual([{ why: "lost", parts: stretches }]);
});
