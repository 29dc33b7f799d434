import type { components } from '../../generated/openapi-client.d.ts'

type Body = components['schemas']['Problem']

/** An error of a request: its place (`pointer`, `row`, `field`), a code for programs, a message for people. */
export type RowError = components['schemas']['RequestError']
export type ProblemType = components['schemas']['ProblemType']

/** The service refused the request. Nothing was written, unless `mayHaveActed`. */
export class Problem extends Error {
  override readonly name = 'Problem'
  /** The problem type; `about:blank` if something between the client and the service responded. */
  readonly type: ProblemType | 'about:blank'
  readonly title: string
  readonly status: number
  readonly detail: string
  /** The id of the request in the log of the service. */
  readonly instance: string
  /** The first 1,000 errors in the order of the body. */
  readonly errors: RowError[]
  /** The number of all errors. */
  readonly errorCount: number
  /** When to try again, if the service says so. */
  readonly retryAfterSeconds: number | undefined
  /** Whether the service may have done what was asked: no attempt got an answer that tells. */
  readonly mayHaveActed: boolean

  constructor(
    body: Omit<Body, 'type'> & Pick<Problem, 'type'>,
    retryAfterSeconds?: number,
    mayHaveActed = false,
  ) {
    super([body.detail, ...(body.errors ?? []).slice(0, 3).map(sentence)].join(' '))
    this.type = body.type
    this.title = body.title
    this.status = body.status
    this.detail = body.detail
    this.instance = body.instance
    this.errors = body.errors ?? []
    this.errorCount = body.error_count ?? this.errors.length
    this.retryAfterSeconds = retryAfterSeconds
    this.mayHaveActed = mayHaveActed
  }
}

/** No response arrived: the service or the network is down. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  /** As that of a `Problem`. */
  readonly mayHaveActed: boolean

  constructor(message: string, { mayHaveActed = false, cause }: Doubt = {}) {
    super(message, { cause })
    this.mayHaveActed = mayHaveActed
  }
}

interface Doubt {
  cause?: unknown
  mayHaveActed?: boolean
}

/** Whether the response may come from the service. HTML comes from a proxy, a portal or another server. */
export function isOfService({ headers }: Response): boolean {
  return !headers.get('content-type')?.startsWith('text/html')
}

/** Whether the body of a response says that it is problem details. */
export function isProblem({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('application/problem+json') ?? false
}

/** Reads the problem in a response; its type is `about:blank` if the body is not problem details. */
export async function readProblem(response: Response, mayHaveActed = false): Promise<Problem> {
  const text = await response.text()
  const seconds = retryAfterSeconds(response)
  if (isProblem(response)) return new Problem(JSON.parse(text), seconds, mayHaveActed)
  const { status, statusText: title } = response
  const place = response.headers.get('location')
  const detail = `HTTP ${status} ${title}: ${place ? `go to ${place}` : text.slice(0, 200)}`
  const body = { type: 'about:blank', title, status, detail, instance: '' } as const
  return new Problem(body, seconds, mayHaveActed)
}

/** `Retry-After` in seconds; the header may be a date. */
export function retryAfterSeconds({ headers }: Response): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  const until = Date.parse(value)
  return Number.isNaN(until) ? undefined : Math.max(0, (until - Date.now()) / 1000)
}

/** The message of an error after its place: the cell of a price list, or the pointer. */
export function sentence({
  pointer,
  cell,
  message,
}: Pick<RowError, 'cell' | 'message'> & Partial<Pick<RowError, 'pointer'>>): string {
  const place = cell ? Object.values(cell).join(', ') : pointer
  return place ? `${place}: ${message}` : message
}
