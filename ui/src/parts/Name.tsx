// A name that is cut where it matters least, and said whole to whoever points at it.
import { isQualified } from "./shortened";
import "./name.css";

export function Name({ text }: { text: string }) {
  return (
    <span class={isQualified(text) ? "name cut-in-front" : "name"} title={text}>
      <bdi dir="ltr">{text}</bdi>
    </span>
  );
}
