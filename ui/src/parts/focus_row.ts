/** j and k in a list whose rows are links: the focus goes to the next (1) or the one before (-1), at first to the first. */
export function focusRow(list: HTMLElement | null, by: number): void {
  const links = [...(list?.querySelectorAll<HTMLElement>("a[href], [data-row]") ?? [])];
  const current = links.findIndex((link) => link === document.activeElement);
  const next = current < 0 ? 0 : Math.max(0, Math.min(links.length - 1, current + by));
  links[next]?.focus();
}
