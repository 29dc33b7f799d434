import type { components } from '../../generated/openapi.d.ts'
import { isUnavailable } from '../database/errors.ts'

export type ProblemType = components['schemas']['ProblemType']
export type RequestError = components['schemas']['RequestError']

/** Status and title of every problem type of the contract; a new type fails to compile until it is listed here. */
export const problemTypes = {
  'malformed-body': { status: 400, title: 'The body is not valid JSON' },
  'malformed-file': { status: 400, title: 'The file cannot be read' },
  'invalid-request': { status: 400, title: 'The request does not match the contract' },
  'result-too-large': { status: 400, title: 'The answer would be too large' },
  'too-costly': { status: 400, title: 'The read would cost too much' },
  unauthorized: { status: 401, title: 'No valid credentials' },
  forbidden: { status: 403, title: 'The token does not allow this' },
  'wrong-password': { status: 403, title: 'The current password is wrong' },
  'not-found': { status: 404, title: 'Not found' },
  'price-list-not-found': { status: 404, title: 'No such price list' },
  'method-not-allowed': { status: 405, title: 'This path has no such method' },
  'not-acceptable': { status: 406, title: 'None of the accepted media types is available' },
  'name-taken': { status: 409, title: 'The name is taken' },
  'price-list-not-published': { status: 409, title: 'The price list is not published' },
  'price-list-not-managed': {
    status: 409,
    title: 'The price list was not made through this interface',
  },
  'price-list-not-valid': { status: 409, title: 'The price list is not valid on the day' },
  'decimals-in-use': { status: 409, title: 'Prices of the list may have more decimals' },
  'revert-conflict': { status: 409, title: 'It was changed since' },
  'plan-stale': { status: 409, title: 'The plan is stale' },
  'plan-not-open': { status: 409, title: 'The plan is not open' },
  'history-not-kept': { status: 409, title: 'The history does not go back so far' },
  'schema-in-use': { status: 409, title: 'The schema is in use' },
  'product-in-use': { status: 409, title: 'A price list holds the product' },
  'no-competitor-schema': { status: 409, title: 'There is no competitor schema yet' },
  'stale-rows': { status: 409, title: 'Rows do not fit what is stored' },
  'agreement-exists': { status: 409, title: 'Another agreement has this key' },
  'api-key-name-taken': { status: 409, title: 'A live API key has this name' },
  'too-many-api-keys': { status: 409, title: 'Too many live API keys' },
  'email-taken': { status: 409, title: 'A user has this e-mail' },
  'last-admin': { status: 409, title: 'It is the last admin' },
  'precondition-failed': { status: 412, title: 'It has changed since it was read' },
  'job-ended': { status: 409, title: 'The job has ended' },
  'payload-too-large': { status: 413, title: 'The payload is too large' },
  'uri-too-long': { status: 414, title: 'The request line is too long' },
  'unsupported-media-type': {
    status: 415,
    title: 'The type or encoding of the body is not supported',
  },
  'idempotency-key-in-use': { status: 409, title: 'The first request with this key is running' },
  'guardrail-violated': { status: 422, title: 'A guardrail forbids the change' },
  'idempotency-key-reused': { status: 422, title: 'The key belongs to another request' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'headers-too-large': { status: 431, title: 'The headers are too large' },
  'internal-error': { status: 500, title: 'Internal error' },
  'outcome-unknown': { status: 503, title: 'Written or not' },
  overloaded: { status: 503, title: 'More work than can be done now' },
  unavailable: { status: 503, title: 'Not available now' },
} satisfies Record<ProblemType, { status: number; title: string }>

export interface ProblemOptions {
  errors?: RequestError[]
  errorCount?: number
  /** The oldest moment of the history that is kept. */
  oldest?: string
  headers?: Record<string, string>
  /** For the log; never sent. */
  cause?: unknown
}

/** A failure that is reported to the client (RFC 9457). */
export class Problem extends Error {
  readonly type: ProblemType
  readonly options: ProblemOptions

  constructor(type: ProblemType, detail: string, options: ProblemOptions = {}) {
    super(detail, { cause: options.cause })
    this.type = type
    this.options = options
  }
}

/** Whether a read failed only because of overload or an unavailable database: it may succeed if it is repeated. */
export function isRefusedForNow(error: unknown): boolean {
  return error instanceof Problem
    ? [429, 503].includes(problemTypes[error.type].status)
    : isUnavailable(error)
}

/** 503 for a transient fault: the client should try again after `seconds`. */
export function unavailable(detail: string, seconds = 1, cause?: unknown): Problem {
  return new Problem('unavailable', detail, { headers: { 'retry-after': String(seconds) }, cause })
}

/** 429: the client should try again after `seconds`. For a refusal made thousands of times a second, see `refusalOf`. */
export function tooManyRequests(detail: string, seconds: number): Problem {
  return new Problem('too-many-requests', detail, { headers: { 'retry-after': String(seconds) } })
}

/** 401 with the authentication scheme to use. */
export function unauthorized(detail: string, cause?: unknown): Problem {
  return new Problem('unauthorized', detail, { headers: { 'www-authenticate': 'jwt' }, cause })
}

/** Refusals by type, delay and text: under overload thousands are needed per second, and stack traces cost most. */
const refusals = new Map<string, Problem>()

/** A refusal with `Retry-After`. Shared: do not change it. */
export function refusalOf(
  type: Extract<ProblemType, 'overloaded' | 'too-many-requests'>,
  detail: string,
  seconds: number,
): Problem {
  const key = `${type} ${seconds} ${detail}`
  const known = refusals.get(key)
  if (known) return known
  const refusal = new Problem(type, detail, { headers: { 'retry-after': String(seconds) } })
  refusals.set(key, refusal)
  return refusal
}

/** 503, sent before any work is done. */
export function overloaded(detail: string, seconds = 1): Problem {
  return refusalOf('overloaded', detail, seconds)
}

/** For work that had not begun when the client disconnected. Nobody reads it. */
export function clientGone(): Problem {
  return overloaded('The client is gone.')
}

/** The body of a problem, without its cause; `instance` is the id of the request. */
export function problemBody(problem: Problem, instance: string): Record<string, unknown> {
  const { errors, errorCount, oldest } = problem.options
  return {
    type: problem.type,
    ...problemTypes[problem.type],
    detail: problem.message,
    instance,
    ...(oldest !== undefined && { oldest }),
    ...(errors && { error_count: errorCount ?? errors.length, errors }),
  }
}
