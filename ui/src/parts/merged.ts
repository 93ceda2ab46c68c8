/** The first page's rows, and those of later pages that are not among them. */
export function merged<Row>(first: readonly Row[], later: readonly Row[], idOf: (row: Row) => string): Row[] {
  const seen = new Set<string>();
  return [...first, ...later].filter((row) => {
    const id = idOf(row);
    return !seen.has(id) && seen.add(id);
  });
}
