// usePages(): a list that the server tells in pages: the first one as useAnswer() has it, and more when asked for.
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import { addressOf, ask, type AskError, type Params } from "@/api/ask";
import { merged } from "./merged";

export interface Paged {
  readonly next_cursor: string;
}

export interface Pages<Row> {
  /** Undefined: nothing came yet. */
  readonly rows: readonly Row[] | undefined;
  readonly error: AskError | undefined;
  readonly stale: boolean;
  readonly again: () => void;
  /** Undefined: there are no more. */
  readonly more: (() => void) | undefined;
}

interface Further<Row> {
  readonly address: string;
  readonly rows: readonly Row[];
  readonly cursor: string;
}

/**
 * `idOf` tells rows apart: one that moved to a later page while it was read is shown once. `path` undefined: nothing
 * is asked yet.
 */
export function usePages<Answer extends Paged, Row>(
  path: string | undefined,
  params: Params,
  rowsOf: (answer: Answer) => readonly Row[],
  idOf: (row: Row) => string,
  everyMilliseconds = 0,
): Pages<Row> {
  const address = addressOf(path ?? "", params);
  const first = useAnswer<Answer>(path, params, everyMilliseconds);
  const [further, setFurther] = useState<Further<Row>>();
  const [problem, setProblem] = useState<AskError>();
  useEffect(() => {
    setFurther(undefined);
    setProblem(undefined);
  }, [address]);

  const pages = further?.address === address ? further : undefined;
  const cursor = pages ? pages.cursor : (first.data?.next_cursor ?? "");
  const more = async () =>
    ask<Answer>(path ?? "", { ...params, cursor }).then(
      (answer) => {
        setProblem(undefined);
        const rows = [...(pages?.rows ?? []), ...rowsOf(answer)];
        setFurther({ address, rows, cursor: answer.next_cursor });
      },
      (error: AskError) => setProblem(error),
    );
  return {
    rows: first.data && merged(rowsOf(first.data), pages?.rows ?? [], idOf),
    error: first.error ?? problem,
    stale: first.stale,
    again: first.error ? first.again : more,
    more: cursor === "" || first.stale ? undefined : () => void more(),
  };
}
