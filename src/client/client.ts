import createFetchClient, {
  type Client,
  type ClientPathsWithMethod,
  type FetchResponse,
  type MaybeOptionalInit,
} from 'openapi-fetch'
import type { paths } from '../../generated/openapi-client.d.ts'
import { type Job, type WaitOptions, waitForJob } from './jobs.ts'
import { isOfService, readProblem } from './problem.ts'
import {
  brokenOff,
  isDoubtful,
  isRead,
  type Patience,
  type PatientSend,
  patiently,
  type Reading,
  type Send,
  withBody,
} from './retry.ts'
import { askedTokens, authorized, givenToken, type Tokens } from './tokens.ts'

export interface ClientOptions extends Patience {
  /** The address of the service, for example `http://127.0.0.1:3000`. */
  baseUrl: string
  /**
   * A token or an API key ('' for none), or a function that returns one: called before the first request, and again
   * when a token is refused. Without this and `credentials`, the client sends the API key in the environment variable
   * PRICEWELL_API_KEY.
   */
  token?: string | (() => string | Promise<string>) | undefined
  /** Logs in before the first request, and again when the token has expired. */
  credentials?: { email: string; password: string } | undefined
  /** Used instead of the global `fetch`. */
  fetch?: Send | undefined
}

type Api = Client<paths, 'application/json'>
type Called = Reading & { params?: { header?: Record<string, unknown> } }
type Method = 'get' | 'post' | 'patch' | 'delete'
type Answer<
  Operation extends object,
  Init,
  Media extends `${string}/${string}` = 'application/json',
> = Pick<Extract<FetchResponse<Operation, Init, Media>, { error?: never }>, 'data' | 'response'>

/** What a file gets: its counts, or a job or plan. */
interface FileAnswer<Operation extends object, Init> {
  data:
    | NonNullable<Answer<Done<Operation>, Init, 'application/vnd.pricewell.feed+json'>['data']>
    | Extract<Answer<Operation, Init>['data'], { id: number; status: string }>
  response: Response
}

/** Calls an operation. Returns its data and the response; throws `Problem` or `Unreachable`. */
export type Call<M extends Method> = <
  Path extends ClientPathsWithMethod<Api, M>,
  Init extends MaybeOptionalInit<paths[Path], M>,
>(
  path: Path,
  ...init: undefined extends Init ? [Init?] : [Init]
) => Promise<
  Init extends { body: string }
    ? FileAnswer<Extract<paths[Path][M], object>, Init>
    : Answer<Done<Extract<paths[Path][M], object>>, Init>
>

/** Drops the 202 of operations that take files, because only files get it. */
type Done<Operation extends object> = Operation extends {
  requestBody: { content: { 'text/csv': unknown } }
  responses: infer Responses
}
  ? Omit<Operation, 'responses'> & { responses: Omit<Responses, 202> }
  : Operation

/** The operations of the contract by method and path. */
export interface PricewellClient {
  GET: Call<'get'>
  POST: Call<'post'>
  PATCH: Call<'patch'>
  DELETE: Call<'delete'>
  /** Follows a job to its end and returns it; throws `JobFailed` if it fails or is cancelled. */
  waitForJob(id: number, options?: WaitOptions): Promise<Job>
}

/** A client of the service, typed from its contract. */
export function createClient(options: ClientOptions): PricewellClient {
  const { baseUrl, fetch = (request, init) => globalThis.fetch(request, init) } = options
  const send = patiently(fetch, options)
  const anonymous = createCalls(baseUrl, authorized(send, givenToken(undefined)))
  const tokens = chooseTokens(options, (email, password) => logIn(anonymous, email, password))
  const calls = createCalls(baseUrl, authorized(send, tokens))
  const openEvents = async (id: number, signal?: AbortSignal) => {
    const init = { params: { path: { id } }, parseAs: 'stream', ...(signal && { signal }) } as const
    const { data } = await calls.GET('/api/v1/jobs/{id}/events/', init)
    return data as ReadableStream<Uint8Array>
  }
  const { GET, POST, PATCH, DELETE } = calls
  return {
    GET,
    POST,
    PATCH,
    DELETE,
    waitForJob: (id, waitOptions = {}) => waitForJob(openEvents, id, waitOptions),
  }
}

/** openapi-fetch, except that problems are thrown. */
function createCalls(baseUrl: string, send: PatientSend): Omit<PricewellClient, 'waitForJob'> {
  // A redirect may lose the body or the token, or send both elsewhere.
  const api = createFetchClient<paths, 'application/json'>({
    baseUrl,
    redirect: 'manual',
    bodySerializer: bodyOf,
  })
  api.use({ onResponse: ({ request, response }) => goodAnswer(request, response) })
  const methods = api as unknown as Record<
    Uppercase<Method>,
    (path: string, init: object) => unknown
  >
  const call =
    (method: Uppercase<Method>) =>
    async (path: string, init: Called = {}) => {
      let mayHaveActed = false
      const fetch: Send = async (request) => {
        mayHaveActed = !isRead(request)
        const answer = await send(request, init)
        if (init.parseAs === undefined) rejectFile(answer)
        return answer
      }
      try {
        return await methods[method](path, { fetch, ...inUtf8(init) })
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        throw brokenOff({ url: baseUrl }, error, mayHaveActed)
      }
    }
  const calls = {
    GET: call('GET'),
    POST: call('POST'),
    PATCH: call('PATCH'),
    DELETE: call('DELETE'),
  }
  return calls as unknown as Omit<PricewellClient, 'waitForJob'>
}

/** Throws a TypeError for a file, which is not read as JSON. */
function rejectFile(answer: Response): void {
  const type = answer.headers.get('content-type') ?? ''
  if (!answer.ok || !isOfService(answer) || type === '' || /[/+]json/.test(type)) return
  throw new TypeError(`The answer is ${type}: read it with parseAs: 'text' or 'stream'.`)
}

/** The headers in UTF-8: `fetch` sends Latin-1, and refuses other characters. */
function inUtf8({ params = {}, ...init }: Called): object {
  const { header = {}, ...others } = params
  const encoded = Object.entries(header).map(([name, value]) => [
    name,
    typeof value === 'string' ? utf8(value) : value,
  ])
  return { ...init, params: { ...others, header: Object.fromEntries(encoded) } }
}

const utf8 = (text: string) => String.fromCharCode(...new TextEncoder().encode(text))

/** No operation takes a JSON string: a string is the text of a file. */
const bodyOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body))

async function goodAnswer(request: Request, response: Response): Promise<Response> {
  const answer = wholeAnswer(response, !isRead(request))
  if (!answer.ok || !isOfService(answer)) throw await readProblem(answer, isDoubtful(response))
  return answer
}

function chooseTokens(
  { token, credentials }: ClientOptions,
  logIn: (email: string, password: string) => Promise<string>,
): Tokens {
  if (typeof token === 'function') return askedTokens(token)
  if (token !== undefined) return givenToken(token)
  // A browser has no environment.
  if (credentials === undefined) return givenToken(globalThis.process?.env.PRICEWELL_API_KEY)
  return askedTokens(() => logIn(credentials.email, credentials.password))
}

async function logIn(
  { POST }: Pick<PricewellClient, 'POST'>,
  email: string,
  password: string,
): Promise<string> {
  const { data } = await POST('/login/', { body: { email, password } })
  return data.token
}

/** The same response; reading its body throws `Unreachable` if the connection breaks. */
function wholeAnswer(response: Response, mayHaveActed: boolean): Response {
  const { body } = response
  if (body === null) return response
  const reader = body.getReader()
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { done, value } = await reader.read().catch((error) => {
      // An abort by the caller is left unchanged.
      throw error instanceof TypeError ? brokenOff(response, error, mayHaveActed) : error
    })
    if (done) controller.close()
    else controller.enqueue(value)
  }
  const cancel = (reason: unknown) => reader.cancel(reason)
  return withBody(response, new ReadableStream({ pull, cancel }, { highWaterMark: 0 }))
}
