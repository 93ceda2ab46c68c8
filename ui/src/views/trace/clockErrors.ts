// What wrong clocks do to the order of spans, and how the critical path bears it. What is drawn is never moved.
import type { TraceSpan } from "@/api/generated/answers";
import type { SpanNode, TraceTree } from "./tree";

/** Of two clocks that nobody measured, this share of the parent's duration, and a millisecond at most. */
const UNMEASURED_SHARE = 0.001;
const UNMEASURED_MOST_NANO = 1e6;

/** The overlap of a child with what followed it that their clocks' errors may have made. */
export function overlapAllowed(parent: SpanNode, child: SpanNode): number {
  const [above, below] = [parent.span, child.span];
  if (!above || !below || above.resource === below.resource) return 0;
  if (above.clock && below.clock) return above.clock.error_nano + below.clock.error_nano;
  return Math.min(UNMEASURED_MOST_NANO, UNMEASURED_SHARE * (parent.endNano - parent.startNano));
}

/** Of each node: by how much it is taken as moved, with what is below it in the same process. */
export function clockShifts(tree: TraceTree): Float64Array {
  const shifts = new Float64Array(tree.nodes.length);
  for (const node of tree.nodes) {
    const parent = tree.nodes[node.parent];
    if (parent?.span && node.span) shifts[node.index] = shiftOf(parent, node, node.span, shifts[parent.index] ?? 0);
  }
  return shifts;
}

function shiftOf(parent: SpanNode, node: SpanNode, span: TraceSpan, parentShift: number): number {
  if (span.resource === parent.span?.resource) return parentShift;
  const [start, end] = [parent.startNano + parentShift, parent.endNano + parentShift];
  const answersCall = span.kind === "server" && parent.span?.kind === "client";
  if (!answersCall || node.endNano - node.startNano > end - start) return 0;
  if (node.startNano < start) return start - node.startNano;
  return Math.min(0, end - node.endNano);
}
