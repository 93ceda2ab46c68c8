import { keepToken } from "@/api/token";

/** Asks for the server's token. The address is all the state that there is, so the page simply begins again with it. */
export function TokenForm() {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement).get("token");
    if (typeof given !== "string" || given.trim() === "") return;
    keepToken(given);
    location.reload();
  };
  return (
    <form onSubmit={submit}>
      <label>
        Token <input name="token" type="password" autocomplete="off" required />
      </label>{" "}
      <button type="submit">Use it</button>
    </form>
  );
}
