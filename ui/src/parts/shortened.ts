/** What of a text fits: all of it, or its beginning and its end around "…", because ends tell names apart as well. */
export function shortened(text: string, room: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= room) return text;
  let [least, most] = [0, text.length];
  while (least < most) {
    const kept = Math.ceil((least + most) / 2);
    if (widthOf(cut(text, kept)) <= room) least = kept;
    else most = kept - 1;
  }
  return cut(text, least);
}

function cut(text: string, kept: number): string {
  const end = Math.floor(kept / 3);
  return `${text.slice(0, kept - end)}…${end > 0 ? text.slice(-end) : ""}`;
}
