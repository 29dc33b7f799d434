import type { Test } from 'tap'
import type { TestResponse } from './conformant.ts'

/** The errors of a response as "pointer code", in order. */
export function faultsOf({ body }: TestResponse): string[] {
  return (body.errors ?? []).map(
    ({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`,
  )
}

/** Expects 400 `invalid-request` with exactly these errors ("pointer code"), in order. */
export function expectFaults(t: Test, response: TestResponse, faults: string[]): void {
  t.equal(response.status, 400)
  t.equal(response.body.type, 'invalid-request')
  t.strictSame(faultsOf(response), faults)
  t.equal(response.body.error_count, faults.length)
}

/** Expects a problem of this status and type. */
export function expectProblem(
  t: Test,
  { status, body }: TestResponse,
  expected: { status: number; type: string },
): void {
  t.strictSame({ status, type: body.type }, expected)
}

/** Pointer and code of each expected error. */
export type Faults = [pointer: string, code: string][]

/** Expects 400 `invalid-request` with exactly these errors, in any order. */
export function expectAllFaults(t: Test, { status, body }: TestResponse, faults: Faults): void {
  t.equal(status, 400)
  t.equal(body.type, 'invalid-request')
  t.equal(body.error_count, faults.length)
  const found = (body.errors ?? []).map(({ pointer, code }: Record<string, string>) => [
    pointer,
    code,
  ])
  t.strictSame(found.sort(), [...faults].sort())
}
