import { isDeepStrictEqual } from 'node:util'
import type { OperationId } from '../../src/contract/operation.ts'
import type { TestResponse } from '../helpers/conformant.ts'
import type { Draw } from './draw.ts'
import type { Model } from './model.ts'

/** A request in the name of the account of the run. */
export interface Call {
  method: string
  path: string
  body?: unknown
  /** Sent in place of the body as it is. */
  raw?: string | Buffer
  headers?: Record<string, string>
  /** A job may change the account meanwhile. */
  isUnsettled?: true
  /** Was sent before, with the same Idempotency-Key: nothing may change. */
  isRepeated?: true
}

/** Ids of another account, which must answer like ids that nobody has. */
export interface Foreign {
  list: { id: number; name: string }
  agreement: number
  promotion: number
  job: number
}

export interface World {
  draw: Draw
  model: Model
  foreign: Foreign
  /** An account of this service has this user. */
  user: { email: string; password: string }
  send: (call: Call) => Promise<TestResponse>
}

/** A request with what it must be answered. */
export interface Plan {
  call: Call
  status: number
  /** The problem's type, where it is one. */
  type?: string
  /** Pointer and code of every fault that the answer must name, and no other. */
  faults?: Fault[]
  /** The place of the first fault, where more may be said about it. */
  pointer?: string
  /** Compares a success with the model and takes it over into the model. */
  check?: (answer: TestResponse, world: World) => void | Promise<void>
}

export type Fault = [pointer: string, code: string]

/** How requests of an operation are made up; `faulty` ones have the contract's shape and break another rule. */
export interface FuzzOperation {
  id: OperationId
  weight: number
  isReady?: (model: Model) => boolean
  valid: (world: World) => Plan
  faulty?: (world: World) => Plan
}

/** The service did something else than the model. */
export class Mismatch extends Error {}

/** Throws unless what was answered is what the model says. */
export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return
  const [found, wanted] = [actual, expected].map((value) => JSON.stringify(value)?.slice(0, 1500))
  throw new Mismatch(`${what}\n  answered ${found}\n  expected ${wanted}`)
}

/** Throws unless an answer is as the plan says. */
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

/** A path with those query parameters that have a value. */
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

/** The order of code points, in which the database sorts texts. */
export function compareTexts(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
