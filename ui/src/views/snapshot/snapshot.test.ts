import { expect, it } from "vitest";
import type { SnapshotAnswer } from "@/api/generated/answers";
import { causeText, commandOf, partBeside, partOf, pictureAddress, threadsOf } from "./snapshot";

it("knows the parts that there are, and begins with the instructions", () => {
  expect(partOf("sunburst")).toBe("sunburst");
  expect(partOf("nonsense")).toBe("flow");
  expect(partOf(undefined)).toBe("flow");
  expect(partBeside("flow", 1)).toBe("calls");
  expect(partBeside("flow", -1)).toBe("stats");
  expect(partBeside("stats", 1)).toBe("flow");
});

it("asks the server for a picture of one thread, or of all", () => {
  expect(pictureAddress("ab", "calls", undefined)).toBe("/api/v1/snapshots/ab/calls?format=svg");
  expect(pictureAddress("ab", "insns", "7")).toBe("/api/v1/snapshots/ab/insns?format=svg&tid=7");
});

it("says the same as a command that a shell takes", () => {
  expect(commandOf("ab", "flow", { tid: "7" })).toBe("fathom snapshot insns ab --tid 7");
  expect(commandOf("ab", "diff", {})).toBe("fathom snapshot diff ab OTHER");
  expect(commandOf("ab", "delta", { from: "mov eax, *", to: "a'b" })).toBe(
    "fathom snapshot delta ab --from 'mov eax, *' --to 'a'\\''b'",
  );
});

it("lists each thread once, and no processors", () => {
  const thread = (tid: number) => ({ cpu: 0, pid: 1, tid, bytes: 1 });
  const answer = { threads: [thread(7), thread(-1), thread(7), thread(9)] } as unknown as SnapshotAnswer;
  expect(threadsOf(answer)).toEqual([7, 9]);
});

it("says why there is one", () => {
  const said = [
    ["overdue", 7],
    ["slow", -1],
    ["requested", 7],
    ["window", 7],
    ["", -1],
  ] as const;
  expect(said.map(([reason, tid]) => causeText({ reason, tid }))).toEqual([
    "because a span of thread 7 was overdue",
    "because a span was over its threshold at its end",
    "asked for by a person",
    "because of window in thread 7",
    "",
  ]);
});
