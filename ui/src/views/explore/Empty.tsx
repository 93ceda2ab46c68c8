// What stands in the heatmap's place where no span is to be shown: what to do about it.
import { useEffect, useState } from "preact/hooks";
import { ask } from "@/api/ask";
import type { HeatmapAnswer } from "@/api/generated/answers";
import { formatInstant, nowUnixNano } from "@/time/nano";
import { lengthNano, type Between } from "@/time/range";
import type { Show } from "./Explorer";
import { newestSpan, rangeEndingWith } from "./newest";
import { withRange, type Words } from "./words";

interface Props {
  readonly words: Words;
  readonly show: Show;
}

export function Empty({ words, show }: Props) {
  const narrow = words.service || words.operation || words.where.length > 0 || words.errors;
  if (!narrow) return <EmptyRange words={words} show={show} />;
  return (
    <p>
      No spans fit these conditions in this range.
      <br />
      Take a condition away, or choose a longer range.
    </p>
  );
}

type Newest = "asking" | "unknown" | "none" | Between;

function EmptyRange({ words, show }: Props) {
  const newest = useNewest();
  if (newest === "none") return <HowToSend />;
  return (
    <p>
      No spans were started in this range.
      <br />
      {typeof newest === "string" ? (
        "Choose a longer range."
      ) : (
        <>
          The newest span is of {formatInstant(newest.to, 0, words.zone).slice(0, 16)}.{" "}
          <button onClick={() => show(withRange(words, rangeEndingWith(newest, lengthNano(words.range))))}>
            Show the time before that
          </button>
        </>
      )}
    </p>
  );
}

function useNewest(): Newest {
  const [newest, setNewest] = useState<Newest>("asking");
  useEffect(() => {
    const abort = new AbortController();
    const found = newestSpan((params) => ask<HeatmapAnswer>("heatmap", params, abort.signal), nowUnixNano());
    found.then(
      (range) => !abort.signal.aborted && setNewest(range ?? "none"),
      () => !abort.signal.aborted && setNewest("unknown"),
    );
    return () => abort.abort();
  }, []);
  return newest;
}

/** The addresses are those that a server has unless it was told others; the page cannot know these. */
function HowToSend() {
  const host = window.location.hostname;
  return (
    <div class="how-to-send">
      <p>
        <b>No spans yet.</b> This server takes them from anything that speaks OpenTelemetry. For an SDK, unless the
        server was given other addresses:
      </p>
      <pre>
        {`export OTEL_SERVICE_NAME=checkout
export OTEL_TRACES_EXPORTER=otlp
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_ENDPOINT=http://${host}:4318`}
      </pre>
      <p>
        With <code>OTEL_EXPORTER_OTLP_PROTOCOL=grpc</code> it is port 4317. C++ programs have a client of their own;
        README.md says how, and <code>fathom doctor</code> what is missing. Spans are here within a second.
      </p>
    </div>
  );
}
