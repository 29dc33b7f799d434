import { isProblem, readProblem, retryAfterSeconds, Unreachable } from './problem.ts'

/** How long a client retries while the service is busy, down or restarting. */
export interface Patience {
  /** The number of retries, default 5, with a backoff from 0.25 to 4 seconds. */
  retries?: number
  /** The longest `Retry-After` to wait for. Default 30. */
  waitSecondsMax?: number
  /**
   * How long to wait for an earlier request with the same Idempotency-Key that is still running. Retries come at
   * growing intervals and do not count toward `retries`. Default 1800.
   */
  runningSecondsMax?: number
}

/**
 * `fetch` with the caller's signal passed separately: in Node, a Request loses its signal after a garbage collection.
 */
export type Send = (request: Request, init?: { signal?: AbortSignal | null }) => Promise<Response>

const busy = new Set([409, 429, 503])

/** Whether a gateway answered that does not know what the service did. Some have statuses of their own. */
const isOfGateway = (answer: Response) =>
  [502, 504].includes(answer.status) ||
  (!isProblem(answer) && (answer.status >= 500 || [408, 499].includes(answer.status)))

/** With `parseAs: 'stream'` the caller reads the body of a good response. */
export interface Reading {
  signal?: AbortSignal | null
  parseAs?: unknown
  /** Whether an earlier attempt may have been carried out. */
  mayHaveActed?: boolean
}

export type PatientSend = (request: Request, init?: Reading) => Promise<Response>

/** Last responses to changes of which an earlier attempt may have been carried out, without an answer that tells. */
const doubtful = new WeakSet<Response>()

/** Whether the service may have done what the request asked, although this is the response. */
export const isDoubtful = (response: Response): boolean => doubtful.has(response)

/**
 * Retries after 429, 503, and 409 with `Retry-After` (an earlier request with this Idempotency-Key is running).
 * Requests that are safe to repeat are also retried if no response arrived, or half of one, or the outcome is unknown.
 * Throws `Unreachable` if no response arrives at all.
 */
export function patiently(send: Send, patience: Patience): PatientSend {
  return async (request, init) => {
    const nextWait = waits(patience)
    let mayHaveActed = init?.mayHaveActed ?? false
    for (;;) {
      const answer = await attempt(send, request, init)
      const isUnknown = await isOutcomeUnknown(answer)
      mayHaveActed ||= isUnknown && !isRead(request)
      const seconds = isRepeatable(request) || !isUnknown ? nextWait(answer) : undefined
      if (seconds !== undefined) {
        if (answer instanceof Response) await answer.body?.cancel()
        await pause(seconds, init?.signal)
      } else if (answer instanceof Response) return inDoubt(answer, mayHaveActed)
      else
        throw mayHaveActed
          ? new Unreachable(answer.message, { cause: answer, mayHaveActed })
          : answer
    }
  }
}

/** Aborts and errors of a token source are thrown as they are. */
async function attempt(
  send: Send,
  request: Request,
  { signal, parseAs }: Reading = {},
): Promise<Response | Unreachable> {
  const broken =
    (toError: (request: Request, error: TypeError) => Unreachable) => (error: unknown) => {
      if (signal?.aborted || !(error instanceof TypeError)) throw error
      return toError(request, error)
    }
  const answer = await send(request.clone(), signal ? { signal } : {}).catch(broken(noAnswer))
  if (!(answer instanceof Response) || answer.body === null) return answer
  if (parseAs === 'stream' && answer.ok) return answer
  const whole = (body: Blob) => withBody(answer, body)
  return answer.blob().then(whole, broken(brokenOff))
}

/** The same response with another body. */
export const withBody = (response: Response, body: Blob | ReadableStream): Response =>
  Object.defineProperty(new Response(body, response), 'url', { value: response.url })

/** The error of a response whose body breaks off. */
export function brokenOff(
  { url }: Pick<Request, 'url'>,
  cause: Error,
  mayHaveActed = false,
): Unreachable {
  const service = URL.canParse(url) ? new URL(url).origin : 'The service'
  const message = `${service} broke off in the middle of its answer.`
  return new Unreachable(message, { cause, mayHaveActed })
}

/** Returns a function that gives the seconds to wait after each response, or undefined to give up. */
function waits({ retries = 5, waitSecondsMax = 30, runningSecondsMax = 1800 }: Patience) {
  let attempts = 0
  let runningSeconds = 0
  return (answer: Response | Unreachable): number | undefined => {
    const seconds = secondsToWait(answer, attempts)
    if (seconds === undefined || seconds > waitSecondsMax || retries === 0) return undefined
    if (!isRunning(answer)) return attempts++ < retries ? seconds : undefined
    if (runningSeconds >= runningSecondsMax) return undefined
    const rarer = Math.max(seconds, Math.min(runningSeconds / 4, waitSecondsMax))
    runningSeconds += rarer
    return rarer
  }
}

/** Waits; throws the reason of `signal` if it is aborted. */
export function pause(seconds: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, seconds * 1000)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}

function noAnswer({ url }: Request, error: TypeError): Unreachable {
  const cause = error.cause as { code?: string; message?: string } | undefined
  const reason = cause?.code ?? cause?.message ?? error.message
  return new Unreachable(`${new URL(url).origin} does not answer (${reason}).`, { cause: error })
}

function inDoubt(answer: Response, mayHaveActed: boolean): Response {
  if (mayHaveActed && !tellsOutcome(answer)) doubtful.add(answer)
  return answer
}

/**
 * Whether a response tells what became of earlier attempts: the service looked up their Idempotency-Key, or would have
 * refused them, too.
 */
const tellsOutcome = (answer: Response) =>
  !isOfGateway(answer) &&
  ![401, 403, 429, 500, 503].includes(answer.status) &&
  !(isRunning(answer) && retryAfterSeconds(answer) !== undefined)

/** Whether the service may have got the request, and this does not tell what became of it. */
export async function isOutcomeUnknown(answer: Response | Unreachable): Promise<boolean> {
  if (answer instanceof Unreachable) return !isUnconnected(answer.cause as TypeError)
  if (isOfGateway(answer)) return true
  return answer.status === 503 && (await readProblem(answer.clone())).type === 'outcome-unknown'
}

function isRunning(answer: Response | Unreachable): boolean {
  return answer instanceof Response && answer.status === 409
}

/** Undefined if a retry would not help. */
function secondsToWait(answer: Response | Unreachable, attempt: number): number | undefined {
  const growing = Math.min(0.25 * 2 ** attempt, 4) * (0.75 + Math.random() / 2)
  if (answer instanceof Unreachable || isOfGateway(answer)) return growing
  if (!busy.has(answer.status)) return undefined
  const asked = retryAfterSeconds(answer)
  if (asked !== undefined) return asked + Math.random() / 4
  return answer.status === 409 ? undefined : growing
}

/** Whether a `fetch` failed before it had a connection. */
export function isUnconnected({ cause }: Error): boolean {
  const { code = '' } = (cause ?? {}) as { code?: string }
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'].includes(code)
}

/** Calls by POST that change nothing. */
const postedReads = /\/(login|get_prices|get_price_history)\/$/

/** Whether a request changes nothing. */
export const isRead = ({ method, url }: Request): boolean =>
  method === 'GET' || method === 'HEAD' || postedReads.test(new URL(url).pathname)

const isRepeatable = (request: Request): boolean =>
  isRead(request) || request.headers.has('idempotency-key')
