// What is known of the lock that this request waited for: from its own recording, or else from one of another request that
// went the same way (nearby.ts).
import { useEffect, useState } from "preact/hooks";
import { ask } from "@/api/ask";
import type { TraceAnswer } from "@/api/generated/answers";
import { useHeldLock } from "@/parts/HeldLockLine";
import { lockedOf, type Held } from "./Evidence";
import { findNearby, type Nearby } from "./nearby";

export function useHeld(answer: TraceAnswer): Held | undefined {
  const own = lockedOf(answer);
  const nearby = useNearby(answer, (answer.snapshots ?? []).length === 0);
  const id = own?.id ?? nearby?.id;
  const lock = useHeldLock(id);
  if (!id || !lock) return undefined;
  return own || !nearby ? { id, lock } : { id, lock, of: nearby };
}

function useNearby(answer: TraceAnswer, wanted: boolean): Nearby | undefined {
  const [found, setFound] = useState<Nearby>();
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
