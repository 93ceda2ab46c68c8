// Health: what is wrong with a node, in words, and who goes first.
import type { NodeRow } from "@/api/generated/answers";
import { formatBytes, formatCount, formatShare } from "@/parts/figures";
import { formatDuration } from "@/time/nano";

export interface Ailment {
  readonly severity: "bad" | "warn";
  readonly what: string;
}

export interface Patient {
  readonly node: NodeRow;
  readonly ailments: readonly Ailment[];
}

/** The sick first: by how many bad things, then by how many doubtful ones, then by name. */
export function patients(nodes: readonly NodeRow[]): Patient[] {
  const usual = usualVersion(nodes);
  const all = nodes.map((node) => ({ node, ailments: ailmentsOf(node, usual) }));
  return all.sort(
    (one, other) =>
      weight(other) - weight(one) ||
      one.node.host_name.localeCompare(other.node.host_name) ||
      one.node.node_id.localeCompare(other.node.node_id),
  );
}

/** How sick it is: bad things before any number of doubtful ones. */
export function weight({ ailments }: Patient): number {
  return ailments.reduce((sum, { severity }) => sum + (severity === "bad" ? 100 : 1), 0);
}

function usualVersion(nodes: readonly NodeRow[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { agent_version } of nodes) counts.set(agent_version, (counts.get(agent_version) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0];
}

function ailmentsOf(node: NodeRow, usual: string | undefined): Ailment[] {
  const version = node.agent_version !== usual ? [warn(`version ${node.agent_version}, most have ${usual}`)] : [];
  const connection = node.connected ? [] : [bad("not connected")];
  return [...connection, ...lossAilments(node), ...spoolAilments(node), ...clockAilments(node), ...version];
}

function bad(what: string): Ailment {
  return { severity: "bad", what };
}
function warn(what: string): Ailment {
  return { severity: "warn", what };
}

export function lostOf({ losses }: NodeRow): number {
  return losses.reduce((sum, { count }) => sum + count, 0);
}

function lossAilments(node: NodeRow): Ailment[] {
  const lost = lostOf(node);
  return lost > 0 ? [bad(`lost ${formatCount(lost)}`)] : [];
}

const SPOOL_BAD = 0.8;

function spoolAilments({ spool_bytes, spool_limit_bytes }: NodeRow): Ailment[] {
  const share = spool_limit_bytes > 0 ? spool_bytes / spool_limit_bytes : 0;
  if (share >= SPOOL_BAD) return [bad(`spool is ${formatShare(share)} full`)];
  return spool_bytes > 0 ? [warn(`${formatBytes(spool_bytes)} wait in its spool`)] : [];
}

// Starts are corrected by the offset, so a large one does no harm by itself; what it is not known by does.
const CLOCK_OFFSET_NANO = 1e9;
const CLOCK_ERROR_NANO = 10e6;

function clockAilments({ clock }: NodeRow): Ailment[] {
  if (!clock) return [warn("its clock is not measured yet")];
  const { offset_nano, error_nano } = clock;
  const error = error_nano > CLOCK_ERROR_NANO ? [warn(`its clock is known only to ${formatDuration(error_nano)}`)] : [];
  const far = Math.abs(offset_nano) > CLOCK_OFFSET_NANO;
  return far
    ? [warn(`its clock is ${formatDuration(Math.abs(offset_nano))} ${offset_nano < 0 ? "ahead" : "behind"}`), ...error]
    : error;
}

/** Those of whose host, version or ailments ("well" where there are none) all words are said. */
export function matching(all: readonly Patient[], text: string | undefined): readonly Patient[] {
  const words = (text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const saidOf = ({ node, ailments }: Patient) =>
    [node.host_name, node.agent_version, ...ailments.map(({ what }) => what), ailments.length === 0 ? "well" : ""]
      .join("\n")
      .toLowerCase();
  return words.length === 0 ? all : all.filter((patient) => words.every((word) => saidOf(patient).includes(word)));
}

/** "+12.3 µs ± 84 µs": the server's clock minus the node's. */
export function clockText({ clock }: NodeRow): string {
  if (!clock) return "unknown";
  const sign = clock.offset_nano > 0 ? "+" : "";
  return `${sign}${formatDuration(clock.offset_nano)} ± ${formatDuration(clock.error_nano)}`;
}

/** "now", "15 min ago". */
export function agoText(at: bigint, now: bigint): string {
  const nano = Number(now - at);
  return nano < 3e9 ? "now" : `${formatDuration(nano)} ago`;
}
