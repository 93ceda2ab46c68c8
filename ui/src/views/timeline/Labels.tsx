// Names beside the picture: of processes, threads and what is told of them; only those in sight are elements.
import { formatDuration } from "@/time/nano";
import { within, type LaneBox, type Layout, type ProcessBox } from "./layout";

interface Props {
  readonly layout: Layout;
  readonly scrollTop: number;
  readonly height: number;
  readonly fold: (key: string) => void;
}

export function Labels({ layout, scrollTop, height, fold }: Props) {
  return (
    <div class="timeline-labels">
      {within(layout.processes, scrollTop, height).map((box) => (
        <ProcessLabel key={box.lanes.key} box={box} fold={fold} />
      ))}
      {within(layout.lanes, scrollTop, height).map((box) => (
        <LaneLabel key={`${box.processKey} ${box.lane.key}`} box={box} />
      ))}
    </div>
  );
}

function ProcessLabel({ box, fold }: { box: ProcessBox; fold: (key: string) => void }) {
  const { process, key, lanes } = box.lanes;
  const others = process.other_threads > 0 ? `, ${process.other_threads} more not shown` : "";
  const counted = `${process.threads.length} threads${others}`;
  return (
    <button
      class="timeline-process"
      style={{ top: `${box.top}px` }}
      aria-expanded={!box.folded}
      onClick={() => fold(key)}
      title={`${process.service}, process ${process.pid} at ${process.host_name}: ${counted}`}
    >
      <span aria-hidden="true">{box.folded ? "▸" : "▾"}</span> <b>{process.service}</b>{" "}
      <span class="faint">
        {process.pid > 0 ? `${process.pid} ` : ""}
        {process.host_name}
        {box.folded ? ` · ${lanes.length} lanes` : ""}
      </span>
    </button>
  );
}

function endedText({ thread }: LaneBox["lane"]): string {
  const nano = thread?.ended_waits_nano;
  return nano === undefined ? "" : `: ended ${formatDuration(nano)} of the request's waits`;
}

function LaneLabel({ box }: { box: LaneBox }) {
  const { lane } = box;
  let top = 3;
  const tracks = lane.tracks.map((track) => {
    const label = { kind: track.kind, text: track.isMain ? "" : track.label, top, height: track.height };
    top += track.height;
    return label;
  });
  return (
    <div
      class={`timeline-lane${lane.ofTrace ? "" : " timeline-lane-other"}`}
      style={{ top: `${box.top}px`, height: `${box.height}px` }}
    >
      <div
        class={`timeline-thread${lane.tracks[0]?.isMain ? " timeline-thread-wide" : ""}`}
        title={`${lane.name} ${lane.key}${endedText(lane)}`}
      >
        <span class="timeline-name">{lane.name}</span> {lane.key !== "?" && <span class="faint">{lane.key}</span>}
      </div>
      {tracks.map(({ kind, text, top: at, height }) => (
        <div key={kind} class="timeline-track" style={{ top: `${at}px`, lineHeight: `${height}px` }}>
          {text}
        </div>
      ))}
    </div>
  );
}
