// ask(): one question to the server that the page came from. No other host is ever asked.
//
// Errors: AskError, whose message is for people and names the cure. `status` is 0 when the server did not answer at all.

import type { ErrorAnswer } from "./generated/answers";
import { noteLostBatches } from "./lost_batches";
import { credentials } from "./token";

export class AskError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
  get wantsToken(): boolean {
    return this.status === 401;
  }
  /** The same question may be answered the next time: what is not there, or not understood, stays so. */
  get mayPass(): boolean {
    return this.status !== 400 && this.status !== 404;
  }
  get away(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503;
  }
}

export type Params = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export function addressOf(path: string, params: Params = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (value === undefined || value === "" || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(key, String(one));
  }
  const text = search.toString();
  return `/api/v1/${path}${text ? `?${text}` : ""}`;
}

export async function ask<Answer>(path: string, params: Params = {}, signal?: AbortSignal): Promise<Answer> {
  const response = await answered(addressOf(path, params), signal ? { signal } : {});
  const answer = parseExactly(await response.text());
  noteLostBatches(answer);
  return answer as Answer;
}

/** What is at an address of the server, as it is. */
export async function askFile(address: string): Promise<Blob> {
  return (await answered(address, {})).blob();
}

async function answered(address: string, options: RequestInit): Promise<Response> {
  const response = await reach(address, options);
  if (!response.ok) throw new AskError(response.status, messageOf(await response.text(), response.status));
  return response;
}

async function reach(address: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { ...options, headers: credentials() });
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
    throw new AskError(0, "the server does not answer; is fathom-server running? (fathom up starts it)");
  }
}

function messageOf(text: string, status: number): string {
  try {
    // What answers may be another server.
    const answer = JSON.parse(text) as Partial<{ error: Partial<ErrorAnswer["error"]> }> | null;
    if (typeof answer?.error?.message === "string") return answer.error.message;
  } catch {
    // not ours: a proxy's page
  }
  return `the server answered with status ${status}`;
}

/**
 * Integers beyond 2^53 stay exact, as bigints, within what programs said (EXACT): there every digit is theirs. All others
 * (durations, counts, offsets) are numbers whatever they are, as their types say: one reckons with them and draws them,
 * and the two kinds do not mix. Instants come as texts.
 */
export function parseExactly(text: string): unknown {
  const marked = markLarge(text);
  return marked === text ? JSON.parse(text) : unmark(JSON.parse(marked));
}

// A reviver for each value would cost ten times what reading does, so the few large integers are made texts before, and
// integers again behind it. No text of a server begins like this.
const MARK = "\u0000large ";
/** Attributes of spans, events, links and resources; values of a timeline's events. Of any depth. */
const EXACT: ReadonlySet<string> = new Set(["attributes", "values"]);

/** The text with integers of 16 digits and more as marked texts; those within texts are left. */
function markLarge(text: string): string {
  const large = /[:,[]\s*(-?\d{16,})(?=\s*[,\]}])/g;
  let result = "";
  let done = 0;
  let outside = 0;
  for (let found = large.exec(text); found; found = large.exec(text)) {
    outside = endOfTexts(text, outside, found.index);
    const [all, digits = ""] = found;
    const from = found.index + all.length - digits.length;
    if (outside > from) continue;
    result += `${text.slice(done, from)}"\\u0000large ${digits}"`;
    done = from + digits.length;
  }
  return done === 0 ? text : result + text.slice(done);
}

/** The first place behind all texts that begin before `until`, given a place that is in none. */
function endOfTexts(text: string, from: number, until: number): number {
  let at = from;
  for (let quote = text.indexOf('"', at); quote >= 0 && quote < until; quote = text.indexOf('"', at)) {
    let end = text.indexOf('"', quote + 1);
    while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    at = end + 1;
  }
  return at;
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === "\\") ++slashes;
  return slashes % 2 === 1;
}

function unmark(value: unknown, exact = false): unknown {
  if (typeof value === "string") return value.startsWith(MARK) ? integerOf(value.slice(MARK.length), exact) : value;
  if (Array.isArray(value)) return unmarkMembers(value as Record<number, unknown>, exact);
  return typeof value === "object" && value !== null ? unmarkMembers(value as Record<string, unknown>, exact) : value;
}

function unmarkMembers<Key extends string | number>(members: Record<Key, unknown>, exact: boolean): unknown {
  for (const key in members) {
    const value = members[key];
    const marked = typeof value === "string" ? value.startsWith(MARK) : typeof value === "object";
    if (marked) members[key] = unmark(value, exact || EXACT.has(key));
  }
  return members;
}

function integerOf(digits: string, exact: boolean): number | bigint {
  const close = Number(digits);
  return !exact || Number.isSafeInteger(close) ? close : BigInt(digits);
}
