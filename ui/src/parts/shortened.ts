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

/** "shop.CurrencyService/Convert", "/api/cart/items": what tells it from others stands last; "GET /cart" is none. */
export function isQualified(name: string): boolean {
  return /[^./:\s][./:]+[^./:\s]/.test(name) && !/\s/.test(name);
}

/** At most so many letters, where one can measure nothing: a qualified name loses what it begins with, others the end. */
export function fitted(name: string, letters: number): string {
  if (name.length <= letters) return name;
  if (!isQualified(name)) return `${name.slice(0, letters - 1)}…`;
  return `…${name.slice(1 - letters)}`;
}
