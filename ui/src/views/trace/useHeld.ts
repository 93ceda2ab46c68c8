// What is known of the lock that this request waited for: from its own recording, or from one of another request that was
// made in one of its processes meanwhile.
import { useEffect, useState } from "preact/hooks";
import { ask } from "@/api/ask";
import type { SnapshotAnswer, TraceAnswer } from "@/api/generated/answers";
import { useHeldLock } from "@/parts/HeldLockLine";
import { lockedOf, type Held } from "./Evidence";
import { findNearby } from "./nearby";

export function useHeld(answer: TraceAnswer): Held | undefined {
  const own = lockedOf(answer);
  const nearby = useNearby(answer, (answer.snapshots ?? []).length === 0);
  const id = own?.id ?? nearby?.id;
  const lock = useHeldLock(id);
  if (!id || !lock) return undefined;
  return own || !nearby ? { id, lock } : { id, lock, of: nearby.trigger.trace_id };
}

function useNearby(answer: TraceAnswer, wanted: boolean): SnapshotAnswer | undefined {
  const [found, setFound] = useState<SnapshotAnswer>();
  const { trace_id: id } = answer;
  useEffect(() => {
    setFound(undefined);
    if (!wanted) return undefined;
    const abort = new AbortController();
    findNearby(answer, (path, params) => ask(path, params, abort.signal)).then(setFound, () => undefined);
    return () => abort.abort();
  }, [id, wanted]);
  return found;
}
