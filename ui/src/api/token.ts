// The token that a server asks for, where it does: sent with every question. A token that was typed is kept by its tab
// alone; one of a link (login.ts), which is of this host's user, by all tabs.

const KEY = "fathom.token";

// A browser may forbid pages to keep anything; then the token lasts as long as the page is open.
let kept: string | null = null;

function storage(which: "sessionStorage" | "localStorage"): Storage | undefined {
  try {
    return globalThis[which];
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
  keepIn("sessionStorage", token);
}

export function keepTokenForAllTabs(token: string): void {
  storage("sessionStorage")?.removeItem(KEY);
  keepIn("localStorage", token);
}

function keepIn(which: "sessionStorage" | "localStorage", token: string): void {
  kept = token.trim();
  try {
    storage(which)?.setItem(KEY, kept);
  } catch {
    // full, or forbidden
  }
}

/** What a request is to say of who asks. */
export function credentials(): Record<string, string> {
  const token = kept ?? storage("sessionStorage")?.getItem(KEY) ?? storage("localStorage")?.getItem(KEY);
  // Kept by whom it may: without it one is asked for another.
  if (token && tokenProblem(token)) return {};
  return token ? { authorization: `Bearer ${token}` } : {};
}
