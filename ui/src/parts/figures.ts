// Figures as people read them: few digits, the unit beside them.

/** "12,345", and from a million on "1.23 M": what is counted. */
export function formatCount(count: number): string {
  if (count < 1e6) return Math.round(count).toLocaleString("en");
  return count < 1e9 ? `${digits(count / 1e6)} M` : `${digits(count / 1e9)} G`;
}

/** "0.02 %", "< 0.01 %", "12 %": a share from 0 to 1; only none at all is "0 %". */
export function formatShare(share: number): string {
  if (share <= 0) return "0 %";
  if (share < 0.0001) return "< 0.01 %";
  if (share > 0.999 && share < 1) return "> 99.9 %";
  return `${digits(share * 100)} %`;
}

/** "1.2 /s", "3.4 /min" for what is rarer, "12 k/s" for what is more frequent. */
export function formatRate(perSecond: number): string {
  if (perSecond <= 0) return "0 /s";
  if (perSecond < 0.1)
    return perSecond * 60 < 0.1 ? `${digits(perSecond * 3600)} /h` : `${digits(perSecond * 60)} /min`;
  if (perSecond < 9_999.5) return `${digits(perSecond)} /s`;
  return perSecond < 1e6 ? `${digits(perSecond / 1e3)} k/s` : `${digits(perSecond / 1e6)} M/s`;
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB"];

export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${digits(bytes / 1024 ** power)} ${BYTES[power]}`;
}

function digits(value: number): string {
  if (value >= 99.95) return Math.round(value).toLocaleString("en");
  if (value >= 9.995) return value.toFixed(1).replace(/\.0$/, "");
  return value.toFixed(2).replace(/\.?0+$/, "");
}
