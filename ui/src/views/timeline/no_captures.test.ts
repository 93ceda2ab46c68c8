import { expect, it } from "vitest";
import { noCaptures } from "./no_captures";
import { processOf } from "./testing";

const because = (explanation: string) => ({ captures: [], no_capture: { reason: "memory", explanation } });

it("says of each reason once which services it is about", () => {
  const processes = [
    processOf(),
    processOf({ service: "pay", ...because("the memory was used up") }),
    processOf({ service: "web", ...because("this service does not use fathom's client") }),
    processOf({ service: "stock", ...because("the memory was used up") }),
    processOf({ service: "stock", pid: 8, ...because("the memory was used up") }),
  ];
  expect(noCaptures(processes)).toEqual([
    "No capture of pay, stock: the memory was used up.",
    "No capture of web: this service does not use fathom's client.",
  ]);
});

it("does not say that nothing was captured where a part was", () => {
  const explanation = "not captured to its end: the memory was used up";
  const processes = [processOf({ service: "pay", no_capture: { reason: "memory", explanation, partial: true } })];
  expect(noCaptures(processes)).toEqual(["pay: not captured to its end: the memory was used up."]);
});

it("says nothing where all is captured, or the server does not know why not", () => {
  expect(noCaptures([processOf(), processOf({ captures: [] })])).toEqual([]);
});
