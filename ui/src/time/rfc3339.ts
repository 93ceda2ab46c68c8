// Instants as texts that machines and people read alike: RFC 3339 in UTC, exact to the nanosecond. Addresses have them so.
import { NANOS_PER_SECOND, type UnixNano } from "./nano";

/** "2026-11-21T14:00:00Z", "2026-11-21T14:00:00.000000007Z": no digit that says nothing. */
export function writeInstant(at: UnixNano): string {
  const rest = ((at % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  const second = new Date(Number((at - rest) / 1_000_000n)).toISOString().slice(0, 19);
  const fraction = rest.toString().padStart(9, "0").replace(/0+$/, "");
  return `${second}${fraction && `.${fraction}`}Z`;
}

const WRITTEN = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d)?(?:\.(\d{1,9}))?Z$/;

/** What writeInstant() writes, or whole nanoseconds; undefined for anything else. */
export function readInstant(text: string | undefined): UnixNano | undefined {
  if (text && /^\d{16,20}$/.test(text)) return BigInt(text);
  const [, minute, second = ":00", fraction = ""] = WRITTEN.exec(text ?? "") ?? [];
  const milliseconds = minute === undefined ? NaN : Date.parse(`${minute}${second}Z`);
  if (Number.isNaN(milliseconds)) return undefined;
  return BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}
