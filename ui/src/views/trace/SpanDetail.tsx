// All that is known of the selected span.
import type { ComponentChildren } from "preact";
import type { TraceSpan } from "@/api/generated/answers";
import { formatPlace } from "@/state/place";
import { formatDuration, formatExactNano, formatInstant } from "@/time/nano";
import { Attributes, Dropped } from "./Attributes";
import type { Actions } from "./actions";
import { clockText, startErrorNano } from "./clockText";
import { percent, shareOf } from "./contributions";
import { startOf } from "./instants";
import { nameOf } from "./model";
import { Evidence, evidenceOf } from "./Evidence";
import { nodeAt, type SpanNode } from "./tree";

export function SpanDetail({ act, node }: { act: Actions; node: SpanNode }) {
  const { span } = node;
  if (!span) return <MissingParent act={act} node={node} />;
  const { answer } = act.model;
  const resource = answer.resources[span.resource];
  const scope = answer.scopes[span.scope];
  return (
    <>
      <h2>{nameOf(span)}</h2>
      <p class="faint">
        {span.service} · {span.kind}
        {span.name !== undefined && " · counted as __other__, beyond the limit of operations"}
      </p>
      <Notes span={span} node={node} />
      <Evidence trace={answer} found={evidenceOf(answer, span.span_id)} span={span.span_id} />
      <Facts act={act} node={node} span={span} />
      <Section title="Attributes" count={Object.keys(span.attributes).length}>
        <Attributes of={span} />
      </Section>
      <Events span={span} node={node} act={act} />
      <Links span={span} />
      {resource && (
        <Section title="Resource" count={Object.keys(resource.attributes).length}>
          {resource.service_namespace && <p class="faint">namespace {resource.service_namespace}</p>}
          <Attributes of={resource} />
          {resource.schema_url && <p class="faint mono">{resource.schema_url}</p>}
        </Section>
      )}
      {scope && (scope.name !== "" || Object.keys(scope.attributes).length > 0) && (
        <Section title="Scope">
          <p>
            {scope.name} <span class="faint">{scope.version}</span>
          </p>
          <Attributes of={scope} />
          {scope.schema_url && <p class="faint mono">{scope.schema_url}</p>}
        </Section>
      )}
    </>
  );
}

export function Section({ title, count, children }: { title: string; count?: number; children: ComponentChildren }) {
  return (
    <section class="detail-section">
      <h3>
        {title} {count !== undefined && <span class="faint">{count}</span>}
      </h3>
      {children}
    </section>
  );
}

function Notes({ span, node }: { span: TraceSpan; node: SpanNode }) {
  return (
    <>
      {span.status === "error" && <p class="problem">Error{span.status_message ? `: ${span.status_message}` : ""}</p>}
      {span.conflicting && <p class="note">Another stored span has the same id and other content; both are shown.</p>}
      {node.cutFromCycle && (
        <p class="note">It is below itself, by the parents that its spans name; the circle is shown cut here.</p>
      )}
    </>
  );
}

function MissingParent({ act, node }: { act: Actions; node: SpanNode }) {
  return (
    <>
      <h2>A parent that is not stored</h2>
      <p>
        {node.children.length} {node.children.length === 1 ? "span names" : "spans name"} the span{" "}
        <span class="mono">{node.spanId}</span> as their parent, and it is not here: it may be under way still, be lost,
        or never have been sent, as where a service in between is not traced. Its bar is as long as theirs together.
      </p>
      <ul class="plain">
        {node.children.slice(0, 20).map((child) => (
          <li key={child}>
            <SpanButton act={act} index={child} />
          </li>
        ))}
      </ul>
    </>
  );
}

export function SpanButton({ act, index }: { act: Actions; index: number }) {
  const { span, spanId } = nodeAt(act.model.tree, index);
  return (
    <button class="link" onClick={() => act.select(index)}>
      {span ? nameOf(span) : `parent ${spanId}`}
    </button>
  );
}

function Facts({ act, node, span }: { act: Actions; node: SpanNode; span: TraceSpan }) {
  const { model } = act;
  const own = model.path.ownNano[node.index] ?? 0;
  const self = model.tree.selfNano[node.index] ?? 0;
  const error = startErrorNano(span);
  return (
    <dl class="facts">
      <Fact name="Duration" title={formatExactNano(span.duration_nano)}>
        {formatDuration(span.duration_nano)} <span class="faint">{formatExactNano(span.duration_nano)}</span>
      </Fact>
      <Fact name="Adds to path">
        <b class={own > 0 ? "critical" : ""}>{own > 0 ? formatDuration(own) : "nothing"}</b>{" "}
        <span class="faint">
          {own > 0 ? `${percent(shareOf(model.path, own))} of the request` : "making it quicker would not help"}
        </span>
      </Fact>
      <Fact name="Self time">
        {formatDuration(self)} <span class="faint">without its children</span>
      </Fact>
      <Fact name="Begins">+{formatExactNano(startOf(span, model.clock) - model.tree.originNano)}</Fact>
      <Fact name={span.clock ? "Corrected" : "Start"}>
        <span class="mono">{formatInstant(startOf(span, "corrected"), 9)}</span>
        {error !== undefined && <span class="faint"> ± {formatDuration(error)}</span>}
      </Fact>
      {span.clock && (
        <Fact name="As sent">
          <span class="mono">{formatInstant(startOf(span, "sent"), 9)}</span>
        </Fact>
      )}
      <Fact name="Clock offset">{clockText(span)}</Fact>
      <Fact name="Span id">
        <span class="mono">{span.span_id}</span>
      </Fact>
      <Fact name="Parent">
        {node.parent >= 0 ? <SpanButton act={act} index={node.parent} /> : span.parent_span_id || "none: a root"}
      </Fact>
      {span.status !== "unset" && <Fact name="Status">{span.status}</Fact>}
      {span.trace_state && (
        <Fact name="Trace state">
          <span class="mono">{span.trace_state}</span>
        </Fact>
      )}
      {span.flags !== undefined && <Fact name="Flags">0x{span.flags.toString(16)}</Fact>}
    </dl>
  );
}

function Fact({ name, title, children }: { name: string; title?: string; children: ComponentChildren }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const MOST_SHOWN = 200;

function Events({ span, node, act }: { span: TraceSpan; node: SpanNode; act: Actions }) {
  const sent = BigInt(span.start_time_unix_nano);
  if (span.events.length === 0 && !span.dropped_events_count) return null;
  return (
    <Section title="Events" count={span.events.length}>
      {span.events.slice(0, MOST_SHOWN).map((event, nth) => {
        const after = BigInt(event.time_unix_nano) - sent;
        const [since, at] = [Number(after), startOf(span, act.model.clock) + after];
        return (
          <details key={nth} class="event" open={span.events.length <= 3}>
            <summary title={formatInstant(at, 9)}>
              <span class="at">+{formatDuration(since)}</span> {event.name || <i>without a name</i>}{" "}
              <span class="faint">at +{formatDuration(node.startNano + since)} of the trace</span>
            </summary>
            <Attributes of={event} />
          </details>
        );
      })}
      {span.events.length > MOST_SHOWN && <p class="faint">and {span.events.length - MOST_SHOWN} more</p>}
      <Dropped count={span.dropped_events_count} what="events" />
    </Section>
  );
}

function Links({ span }: { span: TraceSpan }) {
  if (span.links.length === 0 && !span.dropped_links_count) return null;
  return (
    <Section title="Links" count={span.links.length}>
      <ul class="plain">
        {span.links.slice(0, MOST_SHOWN).map((link, nth) => (
          <li key={nth}>
            <a class="mono" href={formatPlace({ view: "trace", id: link.trace_id, query: { span: link.span_id } })}>
              trace {link.trace_id.slice(0, 8)}… span {link.span_id}
            </a>
            <Attributes of={link} />
          </li>
        ))}
      </ul>
      {span.links.length > MOST_SHOWN && <p class="faint">and {span.links.length - MOST_SHOWN} more</p>}
      <Dropped count={span.dropped_links_count} what="links" />
    </Section>
  );
}
