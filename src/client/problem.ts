import type { components } from '../../generated/openapi-client.d.ts'

type Body = components['schemas']['Problem']

/** One fault of a request: where it is (`pointer`, `row`, `field`), a word for programs, a sentence for people. */
export type RowError = components['schemas']['RequestError']
export type ProblemType = components['schemas']['ProblemType']

/** The service answered, and refused. Nothing was written, but where the type is `outcome-unknown`: there it may be. */
export class Problem extends Error {
  override readonly name = 'Problem'
  /** The kind of problem; `about:blank` where something between you and the service answered. */
  readonly type: ProblemType | 'about:blank'
  readonly title: string
  readonly status: number
  readonly detail: string
  /** The id of the request, for whoever reads the log of the service. */
  readonly instance: string
  /** The first 1,000 faults in the order of the body. */
  readonly errors: RowError[]
  /** How many faults there are, listed or not. */
  readonly errorCount: number
  /** When to try again, where the service says so. */
  readonly retryAfterSeconds: number | undefined

  constructor(body: Omit<Body, 'type'> & Pick<Problem, 'type'>, retryAfterSeconds?: number) {
    super([body.detail, ...(body.errors ?? []).slice(0, 3).map(sentence)].join(' '))
    this.type = body.type
    this.title = body.title
    this.status = body.status
    this.detail = body.detail
    this.instance = body.instance
    this.errors = body.errors ?? []
    this.errorCount = body.error_count ?? this.errors.length
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** No answer came: the service is not there, or the network is not. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** Whether the service itself may have answered: it has no pages for programs, but a portal or another server has. */
export function isOfService({ headers }: Response): boolean {
  return !headers.get('content-type')?.startsWith('text/html')
}

/** The problem that a response tells of. */
export async function readProblem(response: Response): Promise<Problem> {
  const text = await response.text()
  const seconds = retryAfterSeconds(response)
  if (response.headers.get('content-type')?.startsWith('application/problem+json'))
    return new Problem(JSON.parse(text), seconds)
  const { status, statusText: title } = response
  const place = response.headers.get('location')
  const detail = `HTTP ${status} ${title}: ${place ? `go to ${place}` : text.slice(0, 200)}`
  return new Problem({ type: 'about:blank', title, status, detail, instance: '' }, seconds)
}

/** `Retry-After` in seconds; it may be given as a date. */
export function retryAfterSeconds({ headers }: Response): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  const until = Date.parse(value)
  return Number.isNaN(until) ? undefined : Math.max(0, (until - Date.now()) / 1000)
}

function sentence({ pointer, message }: RowError): string {
  return `${pointer}: ${message}`
}
