import type { AskError } from "@/api/ask";
import { TokenForm } from "@/parts/TokenForm";

/** What went wrong, and what to do: the server's own words. */
export function Problem({ error, again }: { error: AskError; again?: () => void }) {
  return (
    <div class="problem" role="alert">
      <span>{error.message}</span>{" "}
      {error.wantsToken ? <TokenForm /> : again && error.mayPass && <button onClick={again}>Try again</button>}
    </div>
  );
}

export function Waiting({ what }: { what: string }) {
  return (
    <p class="faint" role="status">
      {what} …
    </p>
  );
}
