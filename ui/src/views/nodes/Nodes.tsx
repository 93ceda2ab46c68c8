// Nodes: the agents that this server has heard of, the sick first.
import { useMemo } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { NodeRow, NodesAnswer } from "@/api/generated/answers";
import { formatBytes, formatCount } from "@/parts/figures";
import { TextFilter } from "@/parts/Filters";
import { lossWords } from "@/parts/loss";
import type { Column } from "@/parts/order";
import { Problem, Waiting } from "@/parts/Problem";
import { useSorting } from "@/parts/SortedHead";
import { TableOfRows } from "@/parts/TableOfRows";
import { formatPlace, type Place } from "@/state/place";
import { formatInstant, nowUnixNano } from "@/time/nano";
import { agoText, clockText, lostOf, matching, patients, weight, type Patient } from "./health";
import "./nodes.css";

const EVERY_MILLISECONDS = 5000;

const COLUMNS: readonly Column<Patient>[] = [
  { key: "host", label: "Host", value: ({ node }) => node.host_name },
  { key: "state", label: "State", greatestFirst: true, title: "the sick first", value: weight },
  { key: "seen", label: "Last seen", greatestFirst: true, value: ({ node }) => BigInt(node.last_seen_unix_nano) },
  { key: "version", label: "Version", value: ({ node }) => node.agent_version },
  {
    ...{ key: "clock", label: "Clock", kind: "number" },
    title: "the server's clock minus the node's; by how much that may be wrong",
    value: ({ node }) => node.clock && Math.abs(node.clock.offset_nano),
  },
  { key: "losses", label: "Losses", greatestFirst: true, value: ({ node }) => lostOf(node) },
  { key: "spool", label: "Spool", kind: "number", value: ({ node }) => node.spool_bytes },
  { key: "memory", label: "Memory", kind: "number", value: ({ node }) => node.resident_bytes },
  { key: "programs", label: "Programs", kind: "number", value: ({ node }) => node.programs },
  { key: "spans", label: "Spans", kind: "number", value: ({ node }) => node.acknowledged_spans },
];

export function Nodes({ place }: { place: Place }) {
  const { data, error, again } = useAnswer<NodesAnswer>("nodes", {}, EVERY_MILLISECONDS);
  const all = useMemo(() => data && patients(data.nodes), [data]);
  const found = all && matching(all, place.query["find"]);
  const sorting = useSorting(COLUMNS, "state");
  return (
    <>
      <div class="list-head">
        <h1>Nodes</h1>
        {all && all.length > 0 && <TextFilter place={place} name="find" label="Host, version or state" first />}
        {all && all.length > 0 && <span class="faint">{summary(all)}</span>}
        {found && found.length < (all?.length ?? 0) && <span role="status">{found.length} of them shown</span>}
      </div>
      {error && <Problem error={error} again={again} />}
      {!all && !error && <Waiting what="Asking" />}
      {all?.length === 0 && <Nobody />}
      {found && found.length > 0 && (
        <div class="nodes-table">
          <TableOfRows label="Agents by host" sorting={sorting} rows={found}>
            {(patient) => <Row key={patient.node.node_id} patient={patient} />}
          </TableOfRows>
        </div>
      )}
    </>
  );
}

function summary(all: readonly Patient[]): string {
  const sick = all.filter(({ ailments }) => ailments.length > 0).length;
  const connected = all.filter(({ node }) => node.connected).length;
  return `${connected} of ${all.length} connected · ${sick === 0 ? "all well" : `${sick} to look at`}`;
}

function Nobody() {
  return (
    <p class="faint">
      No agent has said anything since this server was started. <code>fathom-agent</code> runs on every host and is told
      with <code>--collector</code> where this server takes spans; those that programs send as OTLP need none.
    </p>
  );
}

function Row({ patient: { node, ailments } }: { patient: Patient }) {
  const seen = BigInt(node.last_seen_unix_nano);
  const spans = formatPlace({ view: "explore", query: { where: `host.name=${node.host_name}` } });
  return (
    <tr>
      <td>
        <a href={spans} title={`node ${node.node_id}: explore its spans`}>
          {node.host_name}
        </a>
      </td>
      <td>
        {ailments.length === 0 ? (
          <span class="good">well</span>
        ) : (
          <ul class="ailments">
            {ailments.map(({ severity, what }) => (
              <li key={what} class={severity}>
                {what}
              </li>
            ))}
          </ul>
        )}
      </td>
      <td title={formatInstant(seen, 3)}>{agoText(seen, nowUnixNano())}</td>
      <td>{node.agent_version}</td>
      <td class="number">{clockText(node)}</td>
      <td>
        <Losses node={node} />
      </td>
      <td class="number">
        {formatBytes(node.spool_bytes)} <span class="faint">of {formatBytes(node.spool_limit_bytes)}</span>
      </td>
      <td class="number">{formatBytes(node.resident_bytes)}</td>
      <td class="number">{formatCount(node.programs)}</td>
      <td class="number">{formatCount(node.acknowledged_spans)}</td>
    </tr>
  );
}

function Losses({ node: { losses } }: { node: NodeRow }) {
  const real = losses.filter(({ count }) => count > 0).sort((one, other) => other.count - one.count);
  if (real.length === 0) return <span class="faint">none</span>;
  return (
    <ul class="losses">
      {real.map(({ reason, count }) => (
        <li key={reason}>
          {formatCount(count)} <span class="faint">{lossWords(reason)}</span>
        </li>
      ))}
    </ul>
  );
}
