// Where instructions went: a ring for each depth of calls, an arc as wide as what ran there. The address has the chosen one.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useKeys } from "@/keys/keys";
import { formatShare } from "@/parts/figures";
import { isDark } from "@/state/appearance";
import { useResting } from "@/state/resting";
import { shortName } from "@/parts/code_names";
import { HUES, lookOf } from "../flow/looks";
import type { SnapshotRing, SnapshotSunburstAnswer } from "@/api/generated/answers";
import type { Asked } from "./Answers";
import { arcPath, extentOf, labelOf, ringBeside, ringPixels, type RingMove } from "./shapes";
import { counted, Verb } from "./tables";

const MOST_RINGS = 600;
const LETTERS = 10.5; // pixels of the screen
const EDGE = 3; // for the line around what is chosen

export function Sunburst({ id, tid }: Asked) {
  return (
    <Verb<SnapshotSunburstAnswer> id={id} verb="sunburst" params={{ limit: MOST_RINGS, tid }}>
      {({ rings }) => <Rings rings={rings} />}
    </Verb>
  );
}

function Rings({ rings }: { rings: readonly SnapshotRing[] }) {
  const [chosen, setChosen] = useResting("ring", readRing, writeRing);
  const at = rings.find(({ id }) => id === chosen) ?? rings[0];
  const choose = (ring: SnapshotRing) => setChosen(() => ring.id);
  const go = (move: RingMove) => () => at && choose(ringBeside(rings, at, move) ?? at);
  useKeys("Sunburst", [
    { key: "ArrowDown", what: "to what it calls most", run: go("in") },
    { key: "ArrowUp", what: "to its caller", run: go("out") },
    { key: "ArrowRight", what: "next beside it", run: go("next") },
    { key: "ArrowLeft", what: "the one before", run: go("previous") },
  ]);
  if (!at) return <p>No instruction of this snapshot could be decoded.</p>;
  return (
    <div class="sunburst">
      <Picture rings={rings} at={at} choose={choose} />
      <section aria-live="polite">
        <h2>{at.name}</h2>
        <p>
          {formatShare(at.to - at.from)} of all, {counted(at.total_instructions)} instructions; itself{" "}
          {counted(at.instructions)}; {counted(at.calls)} calls
        </p>
        <ol class="sunburst-path">
          {pathTo(rings, at).map((ring) => (
            <li key={ring.id}>
              <button aria-pressed={ring.id === at.id} onClick={() => choose(ring)}>
                {shortName(ring.name)}
              </button>{" "}
              <span class="faint">{formatShare(ring.to - ring.from)}</span>
            </li>
          ))}
        </ol>
      </section>
    </div>
  );
}

function readRing(text: string | undefined): number | undefined {
  return /^\d{1,15}$/.test(text ?? "") ? Number(text) : undefined;
}

function writeRing(id: number | undefined): string | undefined {
  return id?.toString();
}

function Picture({
  rings,
  at,
  choose,
}: {
  rings: readonly SnapshotRing[];
  at: SnapshotRing;
  choose: (ring: SnapshotRing) => void;
}) {
  const pixels = ringPixels(rings);
  const dark = isDark.value;
  const arcs = useMemo(
    () =>
      rings.map((ring) => (
        <path key={ring.id} d={arcPath(ring, pixels)} fill={colorOf(ring, dark)} onPointerEnter={() => choose(ring)}>
          <title>{ring.name}</title>
        </path>
      )),
    [rings, dark],
  );
  const { left, top, width, height } = useMemo(() => extentOf(rings, pixels), [rings, pixels]);
  const { svg, scale } = useScale(width + 2 * EDGE, height + 2 * EDGE);
  const size = `${left - EDGE} ${top - EDGE} ${width + 2 * EDGE} ${height + 2 * EDGE}`;
  return (
    <svg
      ref={svg}
      class="sunburst-picture"
      style={{ "--letters": `${LETTERS / scale}px` }}
      viewBox={size}
      role="img"
      aria-label="Instructions by calls; arrow keys go from arc to arc"
    >
      {arcs}
      {rings.map((ring) => (
        <RingName key={ring.id} {...{ ring, pixels, scale }} />
      ))}
      <path class="sunburst-chosen" d={arcPath(at, pixels)} />
    </svg>
  );
}

/** How many pixels of the screen one of a picture that is `width` by `height` takes. */
function useScale(width: number, height: number) {
  const svg = useRef<SVGSVGElement>(null);
  const [scale, setScale] = useState(1);
  useLayoutEffect(() => {
    const measure = () => {
      const box = svg.current?.getBoundingClientRect();
      if (box && box.width > 0) setScale(Math.min(box.width / width, box.height / height));
    };
    measure();
    const observer = new ResizeObserver(measure);
    if (svg.current) observer.observe(svg.current);
    return () => observer.disconnect();
  }, [width, height]);
  return { svg, scale };
}

function RingName({ ring, pixels, scale }: { ring: SnapshotRing; pixels: number; scale: number }) {
  const label = labelOf(ring, pixels, scale);
  if (!label) return null;
  const name = shortName(ring.name);
  return (
    <text class="sunburst-name" transform={`translate(${label.x} ${label.y}) rotate(${label.turn})`}>
      {name.length <= label.letters ? name : `${name.slice(0, label.letters - 1)}…`}
    </text>
  );
}

function colorOf({ name, ring }: SnapshotRing, dark: boolean): string {
  const look = lookOf(name);
  if (ring === 0 || look >= HUES) return dark ? "#465665" : "#b8c3cd";
  return `oklch(${dark ? "0.62" : "0.74"} 0.11 ${(look * 360) / HUES})`;
}

function pathTo(rings: readonly SnapshotRing[], at: SnapshotRing): readonly SnapshotRing[] {
  const path: SnapshotRing[] = [];
  for (let ring: SnapshotRing | undefined = at; ring; ring = rings.find(({ id }) => id === ring?.parent))
    path.unshift(ring);
  return path;
}
