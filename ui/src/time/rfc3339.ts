// Instants as texts that machines and people read alike: RFC 3339 in UTC, exact to the nanosecond. Addresses have them so.
import { NANOS_PER_SECOND, type UnixNano } from "./nano";

/** "2026-11-21T14:00:00Z", "2026-11-21T14:00:00.000000007Z": no digit that says nothing. */
export function writeInstant(at: UnixNano): string {
  const rest = ((at % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  const second = new Date(Number((at - rest) / 1_000_000n)).toISOString().slice(0, 19);
  const fraction = rest.toString().padStart(9, "0").replace(/0+$/, "");
  return `${second}${fraction && `.${fraction}`}Z`;
}

const LATEST: UnixNano = 2n ** 64n - 1n;

/**
 * As the server is told instants: what is bare digits it would read by their magnitude, 1970's nanoseconds as seconds. It
 * has no instants beyond 64 bits of nanoseconds.
 */
export function sentInstant(at: UnixNano): string {
  return writeInstant(at < 0n ? 0n : at > LATEST ? LATEST : at);
}

/** The same for the two ends of a stretch of time. */
export function sentBetween({ from, to }: { readonly from: UnixNano; readonly to: UnixNano }) {
  return { from: sentInstant(from), to: sentInstant(to) };
}

const WRITTEN = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d)?(?:\.(\d{1,9}))?Z$/;

/** What writeInstant() writes, or a count since 1970; undefined for anything else, and for days that no month has. */
export function readInstant(text: string | undefined): UnixNano | undefined {
  if (text && /^\d{9,20}$/.test(text)) return byMagnitude(BigInt(text));
  const [, minute, second = ":00", fraction = ""] = WRITTEN.exec(text ?? "") ?? [];
  const milliseconds = minute === undefined ? NaN : Date.parse(`${minute}${second}Z`);
  // The thirtieth of February would be the second of March.
  if (Number.isNaN(milliseconds) || new Date(milliseconds).toISOString().slice(0, 16) !== minute) return undefined;
  return BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** Seconds, milliseconds, microseconds or nanoseconds, told apart as the server does. */
function byMagnitude(count: bigint): UnixNano {
  if (count < 10n ** 11n) return count * NANOS_PER_SECOND;
  if (count < 10n ** 14n) return count * 1_000_000n;
  return count < 10n ** 17n ? count * 1000n : count;
}
