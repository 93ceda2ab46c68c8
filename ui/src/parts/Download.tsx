// A link that saves a file. With a token the page fetches it, because a link alone could not say who asks; without one,
// the browser does, which can show how far it is.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { AskError } from "@/api/ask";
import { download } from "@/api/download";
import { credentials } from "@/api/token";

interface Props {
  readonly address: string;
  readonly name: string;
  readonly button?: boolean;
  readonly children: ComponentChildren;
}

export function Download({ address, name, button, children }: Props) {
  const [problem, setProblem] = useState("");
  const save = (event: MouseEvent) => {
    setProblem("");
    if (!credentials()["authorization"]) return;
    event.preventDefault();
    download(address, name).catch((error: AskError) => setProblem(error.message));
  };
  return (
    <>
      <a class={button ? "button" : undefined} href={address} download={name} onClick={save}>
        {children}
      </a>
      {problem && (
        <span class="bad" role="alert">
          {" "}
          {problem}
        </span>
      )}
    </>
  );
}
