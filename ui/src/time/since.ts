// How long ago, as people and addresses say it: "15m", "1h30m", "7d".

const UNIT_NANOS: Readonly<Record<string, bigint>> = {
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
};

/** "1h30m" as nanoseconds; undefined for what is no duration. */
export function sinceNano(text: string): bigint | undefined {
  if (!/^(\d{1,6}(ms|s|m|h|d))+$/.test(text)) return undefined;
  let total = 0n;
  for (const [, count = "0", unit = ""] of text.matchAll(/(\d+)(ms|[smhd])/g)) {
    total += BigInt(count) * (UNIT_NANOS[unit] ?? 0n);
  }
  return total > 0n ? total : undefined;
}
