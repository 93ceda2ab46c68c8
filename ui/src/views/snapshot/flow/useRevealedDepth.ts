import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import type { ChartHandle } from "./Chart";
import { selectedCall, type Flow } from "./flow";

/** Scrolls the chart to the selected call, whenever that is another one. */
export function useRevealedDepth(flow: Flow, chart: RefObject<ChartHandle | null>): void {
  const depth = selectedCall(flow)?.depth;
  useEffect(() => {
    if (depth !== undefined) chart.current?.revealDepth(depth);
  }, [depth, flow.revealed]);
}
