// Attributes as a table: keys in order, values exact, and what of them is missing.
import { printable } from "@/parts/printable";
import { Breakable } from "./Breakable";
import { sortedAttributes, valueText } from "./values";

interface HasAttributes {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly cut_attributes?: readonly string[];
  readonly dropped_attributes_count?: number;
}

export function Attributes({ of }: { of: HasAttributes }) {
  const pairs = sortedAttributes(of.attributes);
  return (
    <>
      {pairs.length > 0 && (
        <dl class="attributes">
          {pairs.map(([key, value]) => (
            <div key={key}>
              <dt>
                <Breakable text={printable(key)} />
              </dt>
              <dd class={typeof value === "string" ? "" : "typed"}>
                {printable(valueText(value))}
                {of.cut_attributes?.includes(key) && <span class="tag warn">cut</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      <Dropped count={of.dropped_attributes_count} what="attributes" />
    </>
  );
}

export function Dropped({ count, what }: { count: number | undefined; what: string }) {
  return count ? (
    <p class="note">
      {count} more {what} were dropped.
    </p>
  ) : null;
}
