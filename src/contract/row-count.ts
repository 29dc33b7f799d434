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

/** The row at `base` that a JSON Pointer leads into, and the rest of the pointer; undefined: it leads elsewhere. */
export function rowOf(pointer: string, base: string): { row: number; rest: string } | undefined {
  const start = base.length + 1
  const slash = pointer.indexOf('/', start)
  const end = slash < 0 ? pointer.length : slash
  const row = Number(pointer.slice(start, end))
  if (end === start || Number.isNaN(row) || !pointer.startsWith(`${base}/`)) return undefined
  return { row, rest: pointer.slice(end) }
}
