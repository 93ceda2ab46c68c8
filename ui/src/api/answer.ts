// useAnswer(): a question's answer as a component sees it: waiting, there, or failed; asked again when the question
// changes. While a new answer is on its way the old one stays in sight (`stale`), so that nothing flickers; where that
// fails, the old one goes, because it is of another question.
import { useEffect, useRef, useState } from "preact/hooks";
import { addressOf, ask, type AskError, type Params } from "./ask";

export interface Answer<T> {
  readonly data?: T;
  readonly error?: AskError;
  /** `data` is of the question before. */
  readonly stale: boolean;
  readonly again: () => void;
}

interface Settled<T> {
  /** The question that was answered last, be it by an error. */
  readonly address?: string;
  readonly data?: T;
  readonly error?: AskError;
}

const AWAY_MILLISECONDS = 3000;

/**
 * `path` undefined: nothing is asked yet. `everyMilliseconds`: asked again so long after each answer, for whoever follows
 * live: a server that takes longer than that is waited for. One that is away is asked again by itself.
 */
export function useAnswer<T>(path: string | undefined, params: Params = {}, everyMilliseconds = 0): Answer<T> {
  const [state, setState] = useState<Settled<T>>({});
  const [round, setRound] = useState(0);
  const address = path === undefined ? undefined : addressOf(path, params);
  const latest = useRef(params);
  latest.current = params;
  const again = (): void => setRound((before) => before + 1);

  useEffect(() => {
    if (path === undefined || address === undefined) return undefined;
    const abort = new AbortController();
    ask<T>(path, latest.current, abort.signal).then(
      (data) => setState({ address, data }),
      (error: AskError) => {
        if (!abort.signal.aborted) setState((before) => failed(before, address, error));
      },
    );
    return () => abort.abort();
  }, [address, round]);

  useEffect(() => {
    const pause = state.error?.away ? AWAY_MILLISECONDS : everyMilliseconds;
    if (pause <= 0 || state.address === undefined || state.address !== address) return undefined;
    const timer = setTimeout(again, pause);
    return () => clearTimeout(timer);
  }, [everyMilliseconds, address, state]);

  return {
    ...{ stale: state.address !== address, again },
    ...(state.data !== undefined && { data: state.data }),
    ...(state.error && { error: state.error }),
  };
}

function failed<T>({ address: before, data }: Settled<T>, address: string, error: AskError): Settled<T> {
  return { address, error, ...(before === address && data !== undefined && { data }) };
}
