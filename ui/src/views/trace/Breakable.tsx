import { Fragment } from "preact";

/** A long name that may break where its parts end. */
export function Breakable({ text }: { text: string }) {
  return (
    <>
      {text.split(/(?<=[._/])/).map((part, nth) => (
        <Fragment key={nth}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </>
  );
}
