import { type Plan, withQuery } from '../world.ts'

/** The same bulk write as NDJSON: the same errors, with pointers relative to the rows. */
export function asNdjson(
  plan: Plan,
  rows: unknown[],
  query: Record<string, string | number> = {},
): Plan {
  const { body: _, ...call } = plan.call
  const raw = rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  const headers = { 'content-type': 'application/x-ndjson' }
  const faults = plan.faults?.map(([pointer, code]): [string, string] => [
    pointer.replace(/^\/payload/, ''),
    code,
  ])
  return {
    ...plan,
    ...(faults && { faults }),
    call: { ...call, path: withQuery(call.path, query), raw, headers },
  }
}
