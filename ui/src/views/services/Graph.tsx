// The graph as SVG: a box per service, an edge per caller and callee. The table below it says the same in words.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { colorsOf, type ServiceColors } from "@/draw/service_color";
import { useKeys } from "@/keys/keys";
import { formatRate, formatShare } from "@/parts/figures";
import { isDark } from "@/state/appearance";
import { formatDuration } from "@/time/nano";
import { strokeWidth, type Call, type Calls, type ServiceNode } from "./calls";
import { apart, drawn, neighbour, type Box, type Drawing, type Sizes, type Wire } from "./places";
import type { Focus } from "./Services";

interface Props {
  readonly calls: Calls;
  readonly focus: Focus;
  readonly setFocus: (focus: Focus) => void;
  readonly explore: (service: string) => string;
}

// With more edges than that, only those at the focus are labelled.
const MOST_LABELS = 30;
const EDGE_ROOM = 12;

export function Graph({ calls, focus, setFocus, explore }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const em = useMemo(() => parseFloat(getComputedStyle(document.documentElement).fontSize), [width]);
  const sizes = sizesAt(em);
  const drawing = useMemo(() => {
    const names = calls.services.map(({ name }) => name);
    const found = drawn(names, calls.calls, width - 2 * EDGE_ROOM, sizes);
    return { ...found, wires: apart(found.wires, 9.5 * em, 1.1 * em) };
  }, [calls, width, em]);
  const colors = useMemo(() => colorsOf(calls.services.map(({ service }) => service)), [calls]);
  useGraphKeys(frame, drawing);
  const near = (call: Call): boolean => focus.call === call.key || [call.from, call.to].includes(focus.service ?? "");
  const focused = focus.call !== undefined || focus.service !== undefined;
  return (
    <div class="graph" ref={frame}>
      <svg
        width={drawing.width + 2 * EDGE_ROOM}
        height={drawing.height + 2 * EDGE_ROOM}
        viewBox={`${-EDGE_ROOM} ${-EDGE_ROOM} ${drawing.width + 2 * EDGE_ROOM} ${drawing.height + 2 * EDGE_ROOM}`}
        role="group"
        aria-label="Who calls whom"
        data-focused={focused}
      >
        <g aria-hidden="true">
          {calls.calls.map((call, at) => (
            <Edge
              key={call.key}
              call={call}
              wire={drawing.wires[at]}
              width={strokeWidth(call.rate, calls.calls)}
              near={near(call)}
              enter={() => setFocus({ call: call.key })}
              leave={() => setFocus({})}
            />
          ))}
          {calls.calls.map((call, at) => {
            const labelled = near(call) || (!focused && calls.calls.length <= MOST_LABELS);
            return labelled && <EdgeLabel key={call.key} call={call} wire={drawing.wires[at]} em={em} />;
          })}
        </g>
        {drawing.boxes.map((box) => {
          const service = calls.services.find(({ name }) => name === box.name);
          const touched = calls.calls.some((call) => near(call) && [call.from, call.to].includes(box.name));
          return (
            service && (
              <Service
                key={box.name}
                {...{ box, service, sizes, colors, near: touched || focus.service === box.name }}
                address={explore(service.service)}
                enter={() => setFocus({ service: box.name })}
                leave={() => setFocus({})}
              />
            )
          );
        })}
      </svg>
    </div>
  );
}

function sizesAt(em: number): Sizes {
  return { boxWidth: 11.5 * em, boxHeight: 3.4 * em, across: 11 * em, down: 1.5 * em };
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

function useGraphKeys(frame: { readonly current: HTMLElement | null }, { boxes }: Drawing): void {
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
  useKeys("Graph", [
    { key: "g", what: "go to the graph; Enter explores a service", run: () => focusOn(boxes[0]) },
    { key: "ArrowLeft", what: "to the callers", when: inside, run: step("ArrowLeft") },
    { key: "ArrowRight", what: "to the callees", when: inside, run: step("ArrowRight") },
    { key: "ArrowUp", what: "to the service above", when: inside, run: step("ArrowUp") },
    { key: "ArrowDown", what: "to the service below", when: inside, run: step("ArrowDown") },
  ]);
}

interface Touched {
  readonly near: boolean;
  readonly enter: () => void;
  readonly leave: () => void;
}

interface EdgeProps extends Touched {
  readonly call: Call;
  readonly wire: Wire | undefined;
  readonly width: number;
}

function Edge({ call, wire, width, near, enter, leave }: EdgeProps) {
  if (!wire) return null;
  const { x, y } = wire.tip;
  const reach = wire.back ? 7 + width : -7 - width;
  return (
    <g class="edge" data-near={near} data-bad={call.errorShare >= 0.01} onPointerEnter={enter} onPointerLeave={leave}>
      <path class="edge-reach" d={wire.path} />
      <path class="edge-line" d={wire.path} stroke-width={width} />
      <path class="edge-tip" d={`M${x} ${y}l${reach} ${-4 - width / 2}v${8 + width}z`} />
    </g>
  );
}

function EdgeLabel({ call, wire, em }: { call: Call; wire: Wire | undefined; em: number }) {
  if (!wire) return null;
  const errors = call.errorShare > 0 ? `${formatShare(call.errorShare)} ` : "";
  const [rate, duration] = [`${formatRate(call.rate)} `, formatDuration(call.p99_nano)];
  // The line is not to be read between the words.
  const width = (rate.length + errors.length + duration.length) * 0.46 * em;
  return (
    <g class="edge-label-box">
      <rect x={wire.labelX - width / 2} y={wire.labelY - 0.5 * em} width={width} height={em} />
      <text x={wire.labelX} y={wire.labelY} class="edge-label">
        {rate}
        <tspan class="edge-errors">{errors}</tspan>
        {duration}
      </text>
    </g>
  );
}

interface ServiceProps extends Touched {
  readonly box: Box;
  readonly service: ServiceNode;
  readonly sizes: Sizes;
  readonly colors: ServiceColors;
  readonly address: string;
}

function Service({ box, service, sizes, colors, near, address, enter, leave }: ServiceProps) {
  const { boxWidth, boxHeight } = sizes;
  const inset = boxHeight * 0.22;
  const figures = [formatRate(service.rate), service.errorShare > 0 ? formatShare(service.errorShare) : ""];
  const seen = [box.name, ...figures, formatDuration(service.p99_nano)].filter(Boolean).join(" ");
  return (
    <a
      href={address}
      class="service"
      data-service={box.name}
      data-near={near}
      aria-label={`${seen}: rate, errors and p99. Explore it`}
      onPointerEnter={enter}
      onPointerLeave={leave}
      onFocus={enter}
      onBlur={leave}
    >
      <title>{box.name}</title>
      <rect class="service-box" x={box.x} y={box.y} width={boxWidth} height={boxHeight} rx={5} />
      <rect x={box.x} y={box.y} width={5} height={boxHeight} rx={2} fill={colors(service.service, isDark.value)} />
      <text class="service-name" x={box.x + inset} y={box.y + boxHeight * 0.42}>
        {shortened(box.name, 18)}
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

function shortened(name: string, most: number): string {
  return name.length <= most ? name : `${name.slice(0, most - 1)}…`;
}
