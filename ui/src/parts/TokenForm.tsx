import { useState } from "preact/hooks";
import { loginProblem } from "@/api/login";
import { keepToken, tokenProblem } from "@/api/token";

/** Asks for the server's token. The address is all the state that there is, so the page simply begins again with it. */
export function TokenForm() {
  const [problem, setProblem] = useState<string>();
  const shown = problem ?? loginProblem.value;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement).get("token");
    if (typeof given !== "string" || given.trim() === "") return;
    const wrong = tokenProblem(given);
    setProblem(wrong);
    if (wrong !== undefined) return;
    keepToken(given);
    location.reload();
  };
  return (
    <form onSubmit={submit}>
      <label>
        Token <input name="token" type="password" autocomplete="off" required aria-invalid={problem !== undefined} />
      </label>{" "}
      <button type="submit">Use it</button> or open the link that <code>fathom page</code> prints on the server's host.
      {shown && (
        <span class="field-problem" role="alert">
          {" "}
          {shown}
        </span>
      )}
    </form>
  );
}
