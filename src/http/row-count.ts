/** How many rows a body or an answer has: it is a list, or has one as its `payload` or `results`. */
export function countRows(body: unknown): number | undefined {
  if (Array.isArray(body)) return body.length
  const { payload, results } = (body ?? {}) as { payload?: unknown; results?: unknown }
  const rows = payload ?? results
  return Array.isArray(rows) ? rows.length : undefined
}
