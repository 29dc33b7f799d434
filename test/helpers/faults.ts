import type { Test } from 'tap'
import type { TestResponse } from './conformant.ts'

/** Pointer and code of each error that an answer must name. */
export type Faults = [pointer: string, code: string][]

/** Fails the test unless the answer is 400 `invalid-request` with exactly these errors, in any order. */
export function expectFaults(t: Test, { status, body }: TestResponse, faults: Faults): void {
  t.equal(status, 400)
  t.equal(body.type, 'invalid-request')
  t.equal(body.error_count, faults.length)
  const found = (body.errors ?? []).map(({ pointer, code }: Record<string, string>) => [
    pointer,
    code,
  ])
  t.strictSame(found.sort(), [...faults].sort())
}
