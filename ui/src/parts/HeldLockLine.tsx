// "Waited for a lock that thread 12 held, in F at FILE:LINE": the way from a slow request to the line that made it slow.
import { useEffect, useState } from "preact/hooks";
import { ask } from "@/api/ask";
import { formatPlace } from "@/state/place";
import { lineText, shortName } from "./code_names";
import { findHeldLock, heldPlace, type HeldLock } from "./held_lock";
import "./held_lock.css";

// A snapshot does not change: what was found once is there at once on the next page.
const found = new Map<string, HeldLock | undefined>();

/** Undefined while it is not known, and where nobody waited. `id` undefined: nothing is asked. */
export function useHeldLock(id: string | undefined): HeldLock | undefined {
  const [, setVersion] = useState(0);
  useEffect(() => {
    if (id === undefined || found.has(id)) return undefined;
    const abort = new AbortController();
    findHeldLock(id, (path, params) => ask(path, params, abort.signal)).then(
      (lock) => {
        found.set(id, lock);
        setVersion((before) => before + 1);
      },
      () => undefined, // the way to the snapshot is there without it, and tells what is wrong
    );
    return () => abort.abort();
  }, [id]);
  return id === undefined ? undefined : found.get(id);
}

interface Props {
  readonly id: string;
  readonly lock: HeldLock;
  readonly shortcut: string;
  /** What has to be known first: it may be of another request. */
  readonly before?: string | undefined;
}

export function HeldLockLine({ id, lock, shortcut, before }: Props) {
  const { at, waiter, holder, blocking } = lock;
  return (
    <a class="held-lock" href={formatPlace(heldPlace(id, lock))}>
      {before}
      {waiter >= 0 && `Thread ${waiter} `}
      <b>waited for a lock</b> ({lock.lock}) that thread {holder} held
      {blocking !== undefined && `, which waited for a lock of thread ${blocking}`}
      {at && (
        <>
          , in <b class="mono">{shortName(at.function)}</b>
          {at.file && (
            <>
              {" "}
              at <b class="mono">{lineText(at)}</b>
            </>
          )}
        </>
      )}{" "}
      <span class="held-lock-show">
        → show {at?.file ? "the line" : "it"} <kbd>{shortcut}</kbd>
      </span>
    </a>
  );
}
