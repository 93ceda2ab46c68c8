// The page faults of a thread.
import type { PageFault } from "@/api/generated/answers";
import { ItemIndex } from "../item_index";
import { barTrack } from "./bars";
import { inBothWays } from "./calls";
import { byBegin, hasAny, unknownWithGaps, type TrackSource } from "./context";
import type { Description, Track } from "./track";

const KINDS = ["reads of absent pages", "writes to absent pages", "code of absent pages", "of protected pages"];

export function faultTrack(source: TrackSource): Track | undefined {
  const { thread } = source;
  if (!thread || !hasAny(thread, "page_faults")) return undefined;
  const faults = byBegin(thread.page_faults);
  const items = faults.map((fault) => ({ begin: fault.offset_nano, end: fault.offset_nano, kind: kindOf(fault) }));
  return barTrack({
    kind: "faults",
    label: "page faults",
    one: "page fault",
    rows: [new ItemIndex(items, KINDS.length, true)],
    rowHeight: 10,
    unknown: unknownWithGaps(source.unknownOfKernel, thread.gaps, "page_faults"),
    color: (kind, palette) => palette.color[kind === 3 ? "warn" : "page-fault"],
    text: () => "",
    kindName: (kind) => KINDS[kind] ?? "",
    describe: ({ item }) => describeFault(faults[item]),
  });
}

function kindOf(fault: PageFault): number {
  if (fault.protection) return 3;
  if (fault.execution) return 2;
  return fault.write ? 1 : 0;
}

function describeFault(fault: PageFault | undefined): Description {
  if (!fault) return { title: "", what: "", begin: 0, end: 0, facts: [] };
  const access = fault.execution ? "execution" : fault.write ? "write" : "read";
  return {
    title: "page fault",
    what: `${access}; the page was ${fault.protection ? "protected" : "absent"}${fault.of_kernel ? "; in the kernel" : ""}`,
    begin: fault.offset_nano,
    end: fault.offset_nano,
    facts: [
      { label: "address", value: inBothWays(fault.address) },
      { label: "instruction", value: inBothWays(fault.instruction) },
    ],
  };
}
