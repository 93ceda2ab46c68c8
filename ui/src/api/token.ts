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
  return token ? { authorization: `Bearer ${token}` } : {};
}
