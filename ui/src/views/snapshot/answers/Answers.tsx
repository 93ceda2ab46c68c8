// What else can be asked of a snapshot: one part at a time, of all threads or of one.
import type { SnapshotAnswer } from "@/api/generated/answers";
import { Download } from "@/parts/Download";
import { go } from "@/state/navigation";
import { withQuery, type Place } from "@/state/place";
import { commandOf, pictureAddress, threadsOf, type Part } from "../snapshot";
import { Calls } from "./CallTree";
import { Functions, Stats, Syscalls } from "./tables";
import { Delta } from "./Delta";
import { Diff } from "./Diff";
import { Sunburst } from "./Sunburst";
import "@/parts/table.css";
import "./answers.css";

export interface Asked {
  readonly id: string;
  readonly place: Place;
  readonly tid: string | undefined;
}

const PANELS = {
  calls: Calls,
  functions: Functions,
  sunburst: Sunburst,
  syscalls: Syscalls,
  delta: Delta,
  diff: Diff,
  stats: Stats,
} as const;

interface Props {
  readonly place: Place;
  readonly part: Exclude<Part, "flow">;
  readonly of: SnapshotAnswer;
}

export function Answers({ place, part, of }: Props) {
  const id = place.id ?? "";
  const { tid, from, to, other } = place.query;
  const Panel = PANELS[part];
  const command = commandOf(id, part, { tid, from, to, other });
  const pictured = part !== "delta" && part !== "diff";
  return (
    <>
      <div class="snapshot-bar">
        {part !== "diff" && <ThreadChoice place={place} of={of} />}
        <span class="faint">
          Also: <code>{command}</code>
          {pictured && (
            <>
              , and{" "}
              <Download address={pictureAddress(id, part, tid)} name={`${id.slice(0, 8)}-${part}.svg`}>
                as a picture
              </Download>
            </>
          )}
        </span>
      </div>
      <Panel id={encodeURIComponent(id)} place={place} tid={tid} />
    </>
  );
}

const OF_ONE_THREAD = { thread: undefined, at: undefined, range: undefined, ring: undefined };

function ThreadChoice({ place, of }: Pick<Props, "place" | "of">) {
  const threads = threadsOf(of);
  if (threads.length < 2) return null;
  return (
    <label>
      Thread{" "}
      <select
        value={place.query["tid"] ?? ""}
        onChange={(event) => go(withQuery(place, { ...OF_ONE_THREAD, tid: event.currentTarget.value }))}
      >
        <option value="">all</option>
        {threads.map((tid) => (
          <option key={tid} value={String(tid)}>
            {tid}
          </option>
        ))}
      </select>
    </label>
  );
}
