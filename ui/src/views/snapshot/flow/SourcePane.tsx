// The text of the source around the line that is selected: beside the instructions, what they were made of.
import { useLayoutEffect, useRef } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { SnapshotViewSourceAnswer } from "@/api/generated/answers";
import { lineText, shortName } from "@/parts/code_names";
import { useRested } from "@/state/useRested";
import { viewPath } from "./address";
import type { Flow } from "./flow";
import { rowIn } from "./rows";
import {
  outerOf,
  pieceFor,
  shownLines,
  sourceLine,
  sourceParams,
  type Piece,
  type ShownLine,
  type SourceLine,
} from "./source_lines";

const REST_MILLISECONDS = 60;

/** `firstRow`: that of the list, which is told of as long as nothing is selected. */
export function SourcePane({ flow, firstRow }: { flow: Flow; firstRow: number }) {
  const { at, lines, missing } = useText(flow.source.id, useRested(useLine(flow, firstRow), REST_MILLISECONDS));
  return (
    <section class="flow-source" aria-label="Source" data-told={lines ? "text" : "nothing"}>
      <h2>
        <Title at={at} />
      </h2>
      {at && lines && <Lines lines={lines} key={at.file} line={at.line} />}
      {at && !lines && missing && <Untold file={at.file} why={missing} />}
    </section>
  );
}

function useLine({ selection, stack, pieces }: Flow, firstRow: number): SourceLine | undefined {
  const row = rowIn((key) => pieces.pages.get(key), selection?.row ?? firstRow)?.row;
  const found = sourceLine(selection, row, stack);
  const kept = useRef(found);
  // The same line is the same value: what rests on it waits for another one only.
  if (JSON.stringify(kept.current) !== JSON.stringify(found)) kept.current = found;
  return kept.current;
}

/** Of a header's function that was inlined the text is seldom there; that of the line that it is at is what one reads. */
function useText(id: string, at: SourceLine | undefined) {
  const own = useLines(id, at);
  const outer = at && own.missing !== undefined ? outerOf(at) : undefined;
  const around = useLines(id, outer);
  return outer && around.lines ? { at: outer, ...around } : { at, ...own };
}

function useLines(id: string, at: SourceLine | undefined) {
  const piece = useRef<Piece | undefined>(undefined);
  if (at) piece.current = pieceFor(piece.current, at);
  const asked = at && piece.current;
  const { data, error, stale } = useAnswer<SnapshotViewSourceAnswer>(
    asked && viewPath(id, "/source"),
    asked ? sourceParams(asked) : {},
  );
  const lines = at && data ? shownLines(data, at) : undefined;
  return { lines, missing: stale ? undefined : (error?.message ?? data?.missing) };
}

function Title({ at }: { at: SourceLine | undefined }) {
  if (!at) return <span class="faint">No line of source is known here</span>;
  return (
    <>
      <span class="mono" title={`${at.file}:${at.line}`}>
        {lineText(at)}
      </span>{" "}
      {at.inlined && (
        <span class="faint" title={`${at.inlined.file}:${at.inlined.line}`}>
          inlined here: {lineText(at.inlined)}
        </span>
      )}
      {at.function && (
        <span class="faint" title={at.function}>
          {shortName(at.function)} {at.begins && "begins here; where it was is not known"}
        </span>
      )}
    </>
  );
}

function Lines({ lines, line }: { lines: readonly ShownLine[]; line: number }) {
  const pane = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const current = pane.current?.querySelector<HTMLElement>('[aria-current="true"]');
    if (!pane.current || !current) return;
    pane.current.scrollTop = current.offsetTop - (pane.current.clientHeight - current.offsetHeight) / 2;
  }, [line, lines.length, lines[0]?.number]);
  return (
    <div class="flow-source-lines" ref={pane} tabIndex={0} data-scrolls role="group" aria-label="Lines">
      <ol>
        {lines.map(({ number, text, current }) => (
          <li key={number} value={number} aria-current={current || undefined}>
            <span class="flow-source-number">{number}</span>
            <code>{text || " "}</code>
          </li>
        ))}
      </ol>
    </div>
  );
}

// The whole reason once; whoever goes on from instruction to instruction has read it.
const told = new Set<string>();

function Untold({ file, why }: { file: string; why: string }) {
  const cure = useRef(!told.has("cure") || told.has(file));
  if (cure.current) told.add("cure").add(file);
  const name = file.slice(file.lastIndexOf("/") + 1);
  return (
    <p class="faint" title={why}>
      {cure.current ? `No text: ${why}.` : `No text of ${name} here.`}
    </p>
  );
}
