/** The rows of a body: itself, or its `payload`; undefined: it has none. */
export function rowsOf(body: unknown): unknown[] | undefined {
  const rows = Array.isArray(body)
    ? body
    : (body as { payload?: unknown } | undefined | null)?.payload
  return Array.isArray(rows) ? rows : undefined
}

/** How many rows a body or an answer has: it is a list, or has one as its `payload` or `results`. */
export function countRows(body: unknown): number | undefined {
  const { results } = (body ?? {}) as { results?: unknown }
  return rowsOf(body)?.length ?? rowsOf(results)?.length
}
