import { isDeepStrictEqual } from 'node:util'
import type { OperationId } from '../../../src/contract/operation.ts'
import type { TestResponse } from '../../helpers/conformant.ts'
import type { Draw } from './draw.ts'
import type { Model } from './model.ts'

/** A request of the session's account. */
export interface Call {
  method: string
  path: string
  body?: unknown
  /** Sent instead of the body, as it is. */
  raw?: string | Buffer
  headers?: Record<string, string>
  /** A job may change the account meanwhile. */
  isUnsettled?: true
  /** A repeat with the same idempotency key: nothing may change. */
  isRepeated?: true
}

/** Ids of another account; the answer must be that for ids that do not exist. */
export interface Foreign {
  list: { id: number; name: string }
  agreement: number
  promotion: number
  plan: number
  job: number
}

export interface World {
  draw: Draw
  model: Model
  foreign: Foreign
  /** A user of an account of this service. */
  user: { email: string; password: string }
  send: (call: Call) => Promise<TestResponse>
}

/** A request with its expected answer. */
export interface Plan {
  call: Call
  status: number
  /** The type of the problem, if it is one. */
  type?: string
  /** Pointer and code of all expected errors. */
  faults?: Fault[]
  /** Pointer of the first error, where more may follow. */
  pointer?: string
  /** Compares a success with the model and applies it to the model. */
  check?: (answer: TestResponse, world: World) => void | Promise<void>
}

export type Fault = [pointer: string, code: string]

/** How requests of an operation are generated; `faulty` ones fit the schema and break another rule. */
export interface FuzzOperation {
  id: OperationId
  weight: number
  isReady?: (model: Model) => boolean
  valid: (world: World) => Plan
  faulty?: (world: World) => Plan
}

/** The service did something else than the model. */
export class Mismatch extends Error {}

/** Throws unless the answer equals that of the model. */
export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return
  const [found, wanted] = [actual, expected].map((value) => JSON.stringify(value)?.slice(0, 1500))
  throw new Mismatch(`${what}\n  answered ${found}\n  expected ${wanted}`)
}

/** Throws unless the answer is as planned. */
export function expectPlanned(
  { call, status, type, faults, pointer }: Plan,
  answer: TestResponse,
): void {
  const name = `${call.method} ${call.path}`
  expectEqual(
    answer.status,
    status,
    `${name}: status (${JSON.stringify(answer.body).slice(0, 500)})`,
  )
  if (type !== undefined) expectEqual(answer.body.type, type, `${name}: type`)
  if (pointer !== undefined)
    expectEqual(answer.body.errors?.[0]?.pointer, pointer, `${name}: pointer`)
  if (faults === undefined) return
  const named = (answer.body.errors ?? []).map((error: Record<string, string>) => [
    error.pointer,
    error.code,
  ])
  expectEqual(named.sort(byText), [...faults].sort(byText), `${name}: faults`)
  expectEqual(answer.body.error_count, faults.length, `${name}: number of faults`)
}

const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

/** The path with the query parameters that have a value. */
export function withQuery(
  path: string,
  query: Record<string, string | number | undefined>,
): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = given
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&')
  return text === '' ? path : `${path}?${text}`
}

/** A key as a segment of a JSON Pointer. */
export function segment(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Order by code points, as in the database. */
export function compareTexts(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
