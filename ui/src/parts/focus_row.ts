/**
 * j and k in a list whose rows are links: the focus goes to the next (1) or the one before (-1); at first to the first, or
 * the last. Of a table's row with several links it is the one with data-row, else the first.
 */
export function focusRow(list: HTMLElement | null, by: number): void {
  const links = rowLinks(list);
  const now = document.activeElement;
  const current = links.findIndex((link) => link === now || rowOf(link)?.contains(now));
  const next = current < 0 ? (by > 0 ? 0 : links.length - 1) : Math.max(0, Math.min(links.length - 1, current + by));
  links[next]?.focus();
}

function rowLinks(list: HTMLElement | null): HTMLElement[] {
  const all = [...(list?.querySelectorAll<HTMLElement>("a[href], [data-row]") ?? [])];
  const chosen = new Map<Element, HTMLElement>();
  for (const link of all) {
    const row = rowOf(link) ?? link;
    if (!chosen.has(row) || link.hasAttribute("data-row")) chosen.set(row, link);
  }
  return [...chosen.values()];
}

function rowOf(link: HTMLElement): HTMLElement | null {
  return link.closest("tr");
}
