/** Reads all rows of a list, page by page. */
export async function allRows<Row>(
  readPage: (query: {
    offset: number
    limit: number
  }) => Promise<{ count: number; results: Row[] }>,
): Promise<Row[]> {
  const all: Row[] = []
  for (;;) {
    const { count, results } = await readPage({ offset: all.length, limit: 1000 })
    all.push(...results)
    if (results.length === 0 || all.length >= count) return all
  }
}
