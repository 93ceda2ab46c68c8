// What is below the pointer, in a few words, and the moment.
import "@/draw/over.css";
import { tipStyle } from "@/draw/tip";
import { formatDuration, formatInstant } from "@/time/nano";
import type { Strip } from "./layout";
import type { Model } from "./model";
import { tickLabel } from "@/draw/ticks";
import { mergedText, whyUnknown } from "./tracks/bars";
import type { Hit } from "./tracks/track";
import { nanoOf, pixelOf, type Viewport } from "@/draw/viewport";

export interface HoverAt {
  readonly across: number;
  readonly down: number;
  readonly width: number;
  readonly height: number;
  readonly strip: Strip | undefined;
  readonly hit: Hit | undefined;
}

export function Hover({ at, model, view }: { at: HoverAt; model: Model; view: Viewport }) {
  const nano = Math.round(nanoOf(view, at.width, at.across));
  const lines = [...triggersAt(model, view, at), ...linesOf(at, nano)];
  return (
    <>
      <div class="over-crosshair" style={{ left: `${at.across}px` }} />
      <div class="over-tip" style={tipStyle(at)}>
        {lines.map((text, index) => (
          <div key={index} class={index === 0 ? "over-tip-title" : ""}>
            {text}
          </div>
        ))}
        <div class="faint">
          {tickLabel(nano, 1, Math.abs(nano))} · {formatInstant(model.start + BigInt(nano), 9).slice(11)}
        </div>
      </div>
    </>
  );
}

function triggersAt(model: Model, view: Viewport, { across, width }: HoverAt): string[] {
  const near = model.triggers.filter((trigger) => Math.abs(pixelOf(view, width, trigger.at) - across) <= 4);
  return near.map(({ why }) => `trigger, ${why}`);
}

function linesOf({ strip, hit }: HoverAt, nano: number): string[] {
  if (!strip) return [];
  if (!hit) return [whyUnknown(strip.track, nano)].flatMap((why) => why ?? []);
  if (hit.run.last > hit.run.first + 1) return [mergedText(strip.track, hit)];
  const { title, what, begin, end } = strip.track.describe(hit);
  return [`${title}${end > begin ? `  ${formatDuration(end - begin)}` : ""}`, what];
}
