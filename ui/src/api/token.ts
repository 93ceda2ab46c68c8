// The token that a server asks for, where it does: this tab keeps it, and sends it with every question.

const KEY = "fathom.token";

// A browser may forbid pages to keep anything; then the token lasts as long as the page is open.
let kept: string | null = null;

function storage(): Storage | undefined {
  try {
    return globalThis.sessionStorage;
  } catch {
    return undefined;
  }
}

/**
 * Why this can be no token: a request says it in a header, which has letters, digits and signs of ASCII only. Undefined:
 * it can be one.
 */
export function tokenProblem(token: string): string | undefined {
  const odd = [...token.trim()].find((letter) => !/^[\x20-\x7e]$/.test(letter));
  if (odd === undefined) return undefined;
  const shown = /[\p{C}\p{Z}]/u.test(odd)
    ? `U+${odd.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`
    : odd;
  return `A token has no “${shown}”: was it copied with quotes around it, or with more than itself?`;
}

export function keepToken(token: string): void {
  kept = token.trim();
  try {
    storage()?.setItem(KEY, kept);
  } catch {
    // full, or forbidden
  }
}

/** What a request is to say of who asks. */
export function credentials(): Record<string, string> {
  const token = kept ?? storage()?.getItem(KEY);
  // Kept by whom it may: without it one is asked for another.
  if (token && tokenProblem(token)) return {};
  return token ? { authorization: `Bearer ${token}` } : {};
}
