// The services of the range, and the operations of the chosen one: asked once, shown in the bar and in the table.
import { useAnswer } from "@/api/answer";
import type { AskError } from "@/api/ask";
import type { OperationRow, OperationsAnswer, ServiceRow, ServicesAnswer } from "@/api/generated/answers";
import { rangeParams } from "@/time/range";
import type { Words } from "./words";

export interface Lists {
  readonly services?: readonly ServiceRow[];
  /** Their counts are of so long: the part of the range that the server may have spans of. */
  readonly seconds: number;
  /** Undefined while no service is chosen. */
  readonly operations?: readonly OperationRow[];
  readonly error?: AskError;
  readonly again: () => void;
}

export function useLists(words: Words, ready: boolean, everyMilliseconds: number): Lists {
  const range = rangeParams(words.range);
  const services = useAnswer<ServicesAnswer>(ready ? "services" : undefined, range, everyMilliseconds);
  const narrowed = ready && words.service !== "";
  const params = { ...range, service: words.service };
  const operations = useAnswer<OperationsAnswer>(narrowed ? "operations" : undefined, params, everyMilliseconds);
  const error = services.error ?? (narrowed ? operations.error : undefined);
  // Of another service they would mislead.
  const ofService = operations.data?.operations.filter(({ service }) => service === words.service);
  return {
    ...(services.data && { services: services.data.services }),
    ...(narrowed && ofService && { operations: ofService }),
    seconds: ((narrowed ? operations : services).data?.counted_nano ?? 0) / 1e9,
    ...(error && { error }),
    again: services.error ? services.again : operations.again,
  };
}
