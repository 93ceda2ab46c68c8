// login(): exchanges the code of a link that `fathom page` printed ("#login=CODE") for a token.

import { signal } from "@preact/signals";
import type { PageToken } from "./generated/answers";
import { keepTokenForAllTabs } from "./token";

const PREFIX = "#login=";

/** Why the code of the page's address gave no token; empty: there was none, or it did. */
export const loginProblem = signal("");

/** To be awaited before anything is asked. Afterwards the address has no code. */
export async function login(): Promise<void> {
  const { hash, pathname, search } = window.location;
  if (!hash.startsWith(PREFIX)) return;
  window.history.replaceState(null, "", pathname + search);
  const token = await tokenOf(hash.slice(PREFIX.length));
  if (token) keepTokenForAllTabs(token);
  else loginProblem.value = "The link was used already, or is older than ten minutes. 'fathom page' prints another.";
}

async function tokenOf(code: string): Promise<string | undefined> {
  try {
    const response = await fetch(`/api/v1/page-links/${encodeURIComponent(code)}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    return response.ok ? ((await response.json()) as PageToken).token : undefined;
  } catch {
    return undefined;
  }
}
