// What shows is what is there: characters that are invisible or turn the direction of writing are told by their number, as
// the command line does (base/text.h), so that no name can pass for another one.
const DECEPTIVE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** "a\u{202e}b"; lines and tabs stay. */
export function printable(text: string): string {
  return text.replace(DECEPTIVE, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);
}
