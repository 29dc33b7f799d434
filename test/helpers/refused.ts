import type { Test } from 'tap'
import type { TestAccount } from './service.ts'

/** A payload that breaks a rule, with all expected errors. */
export type BadPayload = [rule: string, body: unknown, ...faults: [pointer: string, code: string][]]

/** Expects 400 with exactly these errors for each payload, and no change in what `read` returns. */
export async function expectRefused(
  t: Test,
  { post }: TestAccount,
  path: string,
  read: () => Promise<{ body: unknown }>,
  cases: BadPayload[],
): Promise<void> {
  const before = (await read()).body
  for (const [rule, payload, ...faults] of cases) {
    const { status, body } = await post(path, payload)
    t.equal(status, 400, rule)
    t.equal(body.type, 'invalid-request', rule)
    const named = body.errors?.map(({ pointer, code }: Record<string, string>) => [pointer, code])
    t.strictSame(named, faults, rule)
    t.equal(body.error_count, faults.length, rule)
    for (const error of body.errors ?? []) expectPlace(t, rule, error)
  }
  t.strictSame((await read()).body, before, 'nothing was written')
}

/** `row` and `field` repeat the pointer of an error in an array of rows. */
function expectPlace(
  t: Test,
  rule: string,
  { pointer, row, field }: { pointer: string; row?: number; field?: string },
): void {
  const match = /^\/(\d+)(?:\/(.*))?$/s.exec(pointer)
  if (!match) return
  t.equal(row, Number(match[1]), rule)
  t.equal(field, match[2]?.replaceAll('~1', '/').replaceAll('~0', '~'), rule)
}

/** The problem without the id of the request. */
export function sameProblem(t: Test, a: { body: object }, b: { body: object }): void {
  t.strictSame({ ...a.body, instance: '' }, { ...b.body, instance: '' })
}
