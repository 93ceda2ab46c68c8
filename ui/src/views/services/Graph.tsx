// The graph as SVG: a box per service, an edge per caller and callee. The table below it says the same in words.
import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { colorsOf, type ServiceColors } from "@/draw/service_color";
import { useKeys } from "@/keys/keys";
import { formatRate, formatShare } from "@/parts/figures";
import { shortened } from "@/parts/shortened";
import { isDark } from "@/state/appearance";
import { formatPlace, withQuery, type Place } from "@/state/place";
import { formatDuration } from "@/time/nano";
import { strokeWidths, type Call, type ServiceNode } from "./calls";
import { isAnywhere, isNearCall, isNearService, type Focusing } from "./focus";
import { neighboursOf, type Drawn } from "./neighbourhood";
import { apart, drawn, neighbour, type Box, type Drawing, type Sizes, type Wire } from "./places";

interface Props {
  readonly calls: Drawn;
  readonly focus: Focusing;
  readonly explore: (service: string) => string;
  readonly place: Place;
}

// With more edges than that, only those at the focus are labelled.
const MOST_LABELS = 30;
const EDGE_ROOM = 12;
const SMALLEST = 0.7;

export function Graph({ calls, focus, explore, place }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const em = useMemo(() => parseFloat(getComputedStyle(document.documentElement).fontSize), [width]);
  const fitting = useMemo(() => measured(em), [em]);
  const sizes = useMemo(() => sizesFor(calls, em, width, fitting.width), [calls, em, width]);
  const drawing = useMemo(() => drawingOf(calls, width, em, sizes), [calls, width, em, sizes]);
  const colors = useMemo(() => colorsOf(calls.services.map(({ service }) => service)), [calls]);
  const widths = useMemo(() => strokeWidths(calls.calls), [calls]);
  const nodes = useMemo(() => new Map(calls.services.map((node) => [node.name, node])), [calls]);
  const neighbours = useMemo(() => neighboursOf(calls.calls), [calls]);
  const focused = useComputed(() => isAnywhere(focus.focus.value));
  const quiet = calls.calls.length > MOST_LABELS;
  useGraphKeys(frame, drawing, calls.centre);
  const addressOf = (name: string): string =>
    calls.centre === undefined || calls.centre === name ? explore(name) : formatPlace(withQuery(place, { at: name }));
  const all = { width: drawing.width + 2 * EDGE_ROOM, height: drawing.height + 2 * EDGE_ROOM };
  const scale = scaleFor(all.width, width);
  return (
    <div class="graph" ref={frame} tabIndex={0} role="region" aria-label="Graph of calls">
      <svg
        width={all.width * scale}
        height={all.height * scale}
        viewBox={`${-EDGE_ROOM} ${-EDGE_ROOM} ${all.width} ${all.height}`}
        role="group"
        aria-label="Who calls whom"
        data-focused={focused}
        data-quiet={quiet}
      >
        <g aria-hidden="true">
          {calls.calls.map((call, at) => (
            <Edge key={call.key} {...{ call, focus }} wire={drawing.wires[at]} width={widths[at] ?? 1} />
          ))}
          {calls.calls.map((call, at) => (
            <EdgeLabel key={call.key} {...{ call, focus, em }} wire={drawing.wires[at]} />
          ))}
        </g>
        {drawing.boxes.map((box) => {
          const service = nodes.get(box.name);
          return (
            service && (
              <Service
                key={box.name}
                {...{ box, service, sizes, colors, focus, neighbours }}
                name={fitting.shortened(box.name, sizes.boxWidth - sizes.boxHeight * 0.44)}
                centre={calls.centre}
                address={addressOf(box.name)}
              />
            )
          );
        })}
      </svg>
    </div>
  );
}

// What does not fit is drawn smaller, as long as one can read it; then one scrolls.
function scaleFor(needed: number, room: number): number {
  return Math.max(SMALLEST, Math.min(1, room / needed));
}

function drawingOf(calls: Drawn, width: number, em: number, sizes: Sizes): Drawing {
  const names = calls.services.map(({ name }) => name);
  const found = drawn(names, calls.calls, width - 2 * EDGE_ROOM, sizes, calls.layerOf);
  return { ...found, wires: apart(found.wires, 9.5 * em, 1.1 * em) };
}

// As wide as the longest name, as far as that goes; wide windows let it go further. Around a centre five layers fit.
function sizesFor({ services, centre }: Drawn, em: number, width: number, widthOf: (name: string) => number): Sizes {
  const boxHeight = 3.4 * em;
  const across = (centre === undefined ? 11 : 6) * em;
  const longest = services.reduce((most, { name }) => Math.max(most, widthOf(name)), 0) + boxHeight * 0.5;
  const room = centre === undefined ? Math.max(16 * em, width / 8) : (width - 2 * EDGE_ROOM - 4 * across) / 5;
  return { boxWidth: Math.max(11.5 * em, Math.min(longest, room)), boxHeight, across, down: 1.5 * em };
}

/** How wide names are drawn, and what of one fits: its beginning and its end, which tell services apart. */
function measured(em: number) {
  const context = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.documentElement).fontFamily;
  if (context) context.font = `600 ${em}px ${family}`;
  const width = (text: string): number => context?.measureText(text).width ?? text.length * 0.6 * em;
  return { width, shortened: (name: string, room: number) => shortened(name, room, width) };
}

function useWidth(frame: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(1000);
  useEffect(() => {
    if (!frame.current) return undefined;
    const sizes = new ResizeObserver(() => setWidth(frame.current?.clientWidth ?? 1000));
    sizes.observe(frame.current);
    return () => sizes.disconnect();
  }, []);
  return width;
}

function useGraphKeys(
  frame: { readonly current: HTMLElement | null },
  { boxes }: Drawing,
  centre: string | undefined,
): void {
  const current = (): Box | undefined =>
    boxes.find(({ name }) => name === document.activeElement?.getAttribute("data-service"));
  const focusOn = (box: Box | undefined): void => {
    const all = frame.current?.querySelectorAll<SVGElement>("[data-service]") ?? [];
    [...all].find((element) => element.getAttribute("data-service") === box?.name)?.focus();
  };
  const step = (key: string) => () => {
    const box = current();
    if (box) focusOn(neighbour(boxes, box, key));
  };
  const inside = (): boolean => current() !== undefined;
  const begin = (): void => focusOn(boxes.find(({ name }) => name === centre) ?? boxes[0]);
  useKeys("Graph", [
    { key: "g", what: "go to the graph; Enter explores a service", run: begin },
    { key: "ArrowLeft", what: "to the callers", when: inside, run: step("ArrowLeft") },
    { key: "ArrowRight", what: "to the callees", when: inside, run: step("ArrowRight") },
    { key: "ArrowUp", what: "to the service above", when: inside, run: step("ArrowUp") },
    { key: "ArrowDown", what: "to the service below", when: inside, run: step("ArrowDown") },
  ]);
}

interface EdgeProps {
  readonly call: Call;
  readonly wire: Wire | undefined;
  readonly focus: Focusing;
}

function Edge({ call, wire, width, focus }: EdgeProps & { readonly width: number }) {
  const near = useComputed(() => isNearCall(focus.focus.value, call));
  if (!wire) return null;
  const { x, y } = wire.tip;
  const reach = wire.back ? 7 + width : -7 - width;
  const bad = call.errorShare >= 0.01;
  return (
    <g class="edge" data-near={near} data-bad={bad} onPointerEnter={focus.at({ call })} onPointerLeave={focus.leave}>
      <path class="edge-reach" d={wire.path} />
      <path class="edge-line" d={wire.path} stroke-width={width} />
      <path class="edge-tip" d={`M${x} ${y}l${reach} ${-4 - width / 2}v${8 + width}z`} />
    </g>
  );
}

function EdgeLabel({ call, wire, em, focus }: EdgeProps & { readonly em: number }) {
  const near = useComputed(() => isNearCall(focus.focus.value, call));
  if (!wire) return null;
  const errors = call.errorShare > 0 ? `${formatShare(call.errorShare)} ` : "";
  const [rate, duration] = [`${formatRate(call.rate)} `, formatDuration(call.p99_nano)];
  // The line is not to be read between the words.
  const width = (rate.length + errors.length + duration.length) * 0.5 * em;
  return (
    <g class="edge-label-box" data-near={near}>
      <rect x={wire.labelX - width / 2} y={wire.labelY - 0.5 * em} width={width} height={em} />
      <text x={wire.labelX} y={wire.labelY} class="edge-label">
        {rate}
        <tspan class="edge-errors">{errors}</tspan>
        {duration}
      </text>
    </g>
  );
}

interface ServiceProps {
  readonly box: Box;
  /** As it is drawn: what fits. */
  readonly name: string;
  readonly service: ServiceNode;
  readonly sizes: Sizes;
  readonly colors: ServiceColors;
  readonly address: string;
  readonly centre: string | undefined;
  readonly focus: Focusing;
  readonly neighbours: ReadonlyMap<string, ReadonlySet<string>>;
}

function Service({ box, name, service, sizes, colors, address, centre, focus, neighbours }: ServiceProps) {
  const near = useComputed(() => isNearService(focus.focus.value, box.name, neighbours));
  const { boxWidth, boxHeight } = sizes;
  const inset = boxHeight * 0.22;
  const figures = [formatRate(service.rate), service.errorShare > 0 ? formatShare(service.errorShare) : ""];
  const seen = [box.name, ...figures, formatDuration(service.p99_nano)].filter(Boolean).join(" ");
  const leads = centre === undefined || centre === box.name ? "Explore it" : "Draw what is around it";
  return (
    <a
      href={address}
      class="service"
      data-service={box.name}
      data-near={near}
      data-centre={centre === box.name}
      aria-label={`${seen}: rate, errors and p99. ${leads}`}
      onPointerEnter={focus.at({ service: box.name })}
      onPointerLeave={focus.leave}
      onFocus={focus.at({ service: box.name })}
      onBlur={focus.leave}
    >
      <title>{`${box.name}: ${leads.toLowerCase()}`}</title>
      <rect class="service-box" x={box.x} y={box.y} width={boxWidth} height={boxHeight} rx={5} />
      <rect x={box.x} y={box.y} width={5} height={boxHeight} rx={2} fill={colors(service.service, isDark.value)} />
      <text class="service-name" x={box.x + inset} y={box.y + boxHeight * 0.42}>
        {name}
      </text>{" "}
      <text class="service-figures" x={box.x + inset} y={box.y + boxHeight * 0.8}>
        {formatRate(service.rate)}
        {service.errorShare > 0 && (
          <tspan class={service.errorShare >= 0.01 ? "edge-errors" : ""}> {formatShare(service.errorShare)}</tspan>
        )}{" "}
        {formatDuration(service.p99_nano)}
      </text>
    </a>
  );
}
