// useAnswer(): a question's answer as a component sees it: waiting, there, or failed; asked again when the question
// changes. While a new answer is on its way the old one stays in sight (`stale`), so that nothing flickers.
import { useEffect, useRef, useState } from "preact/hooks";
import { addressOf, ask, type AskError, type Params } from "./ask";

export interface Answer<T> {
  readonly data?: T;
  readonly error?: AskError;
  /** `data` is of the question before. */
  readonly stale: boolean;
  readonly again: () => void;
}

/** `path` undefined: nothing is asked yet. `everyMilliseconds`: asked again so often, for whoever follows live. */
export function useAnswer<T>(path: string | undefined, params: Params = {}, everyMilliseconds = 0): Answer<T> {
  const [state, setState] = useState<{ address?: string; data?: T; error?: AskError }>({});
  const [round, setRound] = useState(0);
  const address = path === undefined ? undefined : addressOf(path, params);
  const latest = useRef(params);
  latest.current = params;

  useEffect(() => {
    if (path === undefined || address === undefined) return undefined;
    const abort = new AbortController();
    ask<T>(path, latest.current, abort.signal).then(
      (data) => setState({ address, data }),
      (error: AskError) => {
        if (!abort.signal.aborted) setState((before) => ({ ...before, address, error }));
      },
    );
    return () => abort.abort();
  }, [address, round]);

  useEffect(() => {
    if (everyMilliseconds <= 0) return undefined;
    const timer = window.setInterval(() => setRound((before) => before + 1), everyMilliseconds);
    return () => window.clearInterval(timer);
  }, [everyMilliseconds]);

  const answer = { stale: state.address !== address, again: () => setRound((before) => before + 1) };
  return {
    ...answer,
    ...(state.data !== undefined && { data: state.data }),
    ...(state.error && { error: state.error }),
  };
}
