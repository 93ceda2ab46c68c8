// Nodes: the agents that this server has heard of, the sick first.
import { useMemo } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { NodeRow, NodesAnswer } from "@/api/generated/answers";
import { formatBytes, formatCount } from "@/parts/figures";
import { lossWords } from "@/parts/loss";
import { Problem, Waiting } from "@/parts/Problem";
import { formatPlace, type Place } from "@/state/place";
import { formatInstant, nowUnixNano } from "@/time/nano";
import { agoText, clockText, patients, type Patient } from "./health";
import "./nodes.css";

const EVERY_MILLISECONDS = 5000;

export function Nodes(_: { place: Place }) {
  const { data, error, again } = useAnswer<NodesAnswer>("nodes", {}, EVERY_MILLISECONDS);
  const all = useMemo(() => data && patients(data.nodes), [data]);
  return (
    <>
      <div class="nodes-head">
        <h1>Nodes</h1>
        {all && all.length > 0 && <span class="faint">{summary(all)}</span>}
      </div>
      {error && <Problem error={error} again={again} />}
      {!all && !error && <Waiting what="Asking" />}
      {all?.length === 0 && <Nobody />}
      {all && all.length > 0 && <NodeTable all={all} />}
    </>
  );
}

function summary(all: readonly Patient[]): string {
  const sick = all.filter(({ ailments }) => ailments.length > 0).length;
  const connected = all.filter(({ node }) => node.connected).length;
  return `${connected} of ${all.length} connected · ${sick === 0 ? "all well" : `${sick} to look at, first`}`;
}

function Nobody() {
  return (
    <p class="faint">
      No agent has said anything since this server was started. <code>fathom-agent</code> runs on every host and is told
      with <code>--collector</code> where this server takes spans; those that programs send as OTLP need none.
    </p>
  );
}

function NodeTable({ all }: { all: readonly Patient[] }) {
  return (
    <div class="nodes-table" tabIndex={0} role="region" aria-label="Agents by host">
      <table>
        <thead>
          <tr>
            <th>Host</th>
            <th>State</th>
            <th>Last seen</th>
            <th>Version</th>
            <th class="number" title="the server's clock minus the node's; by how much that may be wrong">
              Clock
            </th>
            <th>Losses</th>
            <th class="number">Spool</th>
            <th class="number">Memory</th>
            <th class="number">Programs</th>
            <th class="number">Spans</th>
          </tr>
        </thead>
        <tbody>
          {all.map((patient) => (
            <Row key={patient.node.node_id} patient={patient} />
          ))}
        </tbody>
      </table>
    </div>
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
