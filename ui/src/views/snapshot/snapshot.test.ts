import { expect, it } from "vitest";
import type { SnapshotAnswer } from "@/api/generated/answers";
import { commandOf, pictureAddress, pictureOf, threadsOf } from "./snapshot";

it("knows the pictures that there are, and begins with calls", () => {
  expect(pictureOf("sunburst")).toBe("sunburst");
  expect(pictureOf("nonsense")).toBe("calls");
  expect(pictureOf(undefined)).toBe("calls");
});

it("asks the server for a picture of one thread, or of all", () => {
  expect(pictureAddress("ab", "calls", undefined)).toBe("/api/v1/snapshots/ab/calls?format=svg");
  expect(pictureAddress("ab", "insns", "7")).toBe("/api/v1/snapshots/ab/insns?format=svg&tid=7");
  expect(commandOf("ab", "insns", "7")).toBe("fathom snapshot insns ab --tid 7");
});

it("lists each thread once, and no processors", () => {
  const thread = (tid: number) => ({ cpu: 0, pid: 1, tid, bytes: 1 });
  const answer = { threads: [thread(7), thread(-1), thread(7), thread(9)] } as unknown as SnapshotAnswer;
  expect(threadsOf(answer)).toEqual([7, 9]);
});
