// A table of which each row leads somewhere: its first cell has the link, j and k go from row to row.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useKeys } from "@/keys/keys";
import "./table.css";

interface Props {
  readonly label: string;
  readonly columns: readonly (readonly [name: string, numbers?: "number"])[];
  readonly children: ComponentChildren;
}

export function TableOfRows({ label, columns, children }: Props) {
  const table = useRef<HTMLDivElement>(null);
  const step = (by: 1 | -1) => () => focusRow(table.current, by);
  useKeys(label, [
    { key: "j", what: "next row (Enter opens it)", run: step(1) },
    { key: "k", what: "row before", run: step(-1) },
  ]);
  return (
    <div class="rows" ref={table} role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(([name, numbers]) => (
              <th key={name} scope="col" class={numbers ?? ""}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

function focusRow(table: HTMLElement | null, by: 1 | -1): void {
  const links = [...(table?.querySelectorAll<HTMLAnchorElement>("tbody tr > :first-child a[href]") ?? [])];
  const now = document.activeElement?.closest("tr");
  const at = links.findIndex((link) => link.closest("tr") === now);
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by));
  links[next]?.focus();
}
