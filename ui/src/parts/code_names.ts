// How functions and lines of source are named, in as few words as tell them apart: pure.

/** "shop::Shelves::find": without template arguments and parameters; what is no function's name stays as it is. */
export function shortName(name: string): string {
  if (name.startsWith("[")) return name;
  const bare = without(without(name.replaceAll("(anonymous namespace)::", ""), "<", ">"), "(", ")");
  const tail = bare.replace(/\s*(const|volatile|&|&&)\s*$/, "").trim();
  const words = tail.split(" ");
  const last = tail.includes("operator") ? tail : (words[words.length - 1] ?? tail);
  return last === "" ? name : last;
}

const OPERATORS = /operator\s*(<=>|<<=?|>>=?|<=|>=|->\*?|<|>|\(\))/g;

// Operators have brackets of their own.
function without(text: string, open: string, close: string): string {
  const marked = text.replace(OPERATORS, (all) => all.replace(/[<>()]/g, (sign) => STAND_INS[sign] ?? sign));
  let depth = 0;
  let result = "";
  for (const sign of marked) {
    if (sign === open) ++depth;
    else if (sign === close && depth > 0) --depth;
    else if (depth === 0) result += sign;
  }
  const kept = depth > 0 ? marked : result;
  return kept.replace(/[\u0001-\u0004]/g, (sign) => STOOD_FOR[sign] ?? sign);
}

const STAND_INS: Readonly<Record<string, string>> = { "<": "\u0001", ">": "\u0002", "(": "\u0003", ")": "\u0004" };
const STOOD_FOR = Object.fromEntries(Object.entries(STAND_INS).map(([sign, stand]) => [stand, sign]));

/** "shelves.cc:88": the file without its directories. */
export function lineText(place: { readonly file?: string; readonly line?: number } | undefined): string {
  if (!place?.file) return "";
  const file = place.file.slice(place.file.lastIndexOf("/") + 1);
  return place.line === undefined ? file : `${file}:${place.line}`;
}
