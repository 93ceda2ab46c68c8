// From call to call: where each key leads, given the calls that are under way: pure.
import type { SnapshotViewCall, SnapshotViewStackAnswer } from "@/api/generated/answers";
import type { Selection } from "./address";

export type Move = "next" | "previous" | "in" | "out" | "begin" | "end";

/** Undefined: there is no such call. */
export function moved(stack: SnapshotViewStackAnswer, depth: number | undefined, move: Move): Selection | undefined {
  const at = Math.min(depth ?? Infinity, stack.calls.length - 1);
  const call = stack.calls[at];
  switch (move) {
    case "next":
      return beginOf(stack.next);
    case "previous":
      return beginOf(stack.previous);
    case "in":
      return beginOf(stack.inner);
    case "out":
      return call && callerOf(stack, call);
    case "begin":
      return beginOf(call);
    case "end":
      return call && { row: call.last_row, depth: at };
  }
}

function beginOf(call: SnapshotViewCall | undefined): Selection | undefined {
  return call && { row: call.first_row, depth: call.depth };
}

// Where it was called: the row before its first one.
function callerOf(stack: SnapshotViewStackAnswer, call: SnapshotViewCall): Selection | undefined {
  const caller = stack.calls[call.depth - 1];
  return caller && { row: Math.max(caller.first_row, call.first_row - 1), depth: caller.depth };
}
