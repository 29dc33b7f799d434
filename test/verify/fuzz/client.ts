import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { expectConformant, findOperation, type TestResponse } from '../../helpers/conformant.ts'
import type { Dump } from '../../helpers/dump.ts'
import { bodyFaults } from './contract-faults.ts'
import type { Tally } from './tally.ts'
import { type Call, expectEqual, Mismatch } from './world.ts'

/** A request as the service receives it. */
export interface Request {
  method: string
  url: string
  headers: Record<string, string>
  payload?: string | Buffer
}

/** Sends a request to the service. */
export type Deliver = (
  request: Request,
) => Promise<{ statusCode: number; headers: TestResponse['headers']; body: string }>

export interface ClientOptions {
  deliver: Deliver
  dump: Dump
  tally: Tally
  account: number
  token: string
}

/** How often an overloaded service is asked again; each time counts as an input. */
const attemptsMax = 10

/** Throws when a promise is broken. */
const strict = {
  fail: (message: string, extra?: unknown) => {
    throw new Mismatch(`${message} ${JSON.stringify(extra ?? '').slice(0, 1500)}`)
  },
} as unknown as Test

/**
 * Sends requests of an account and checks what holds for all answers: no 5xx, the contract's shape, no invalid
 * body accepted, every error of the shape named, nothing changed by a refused request.
 */
export class Client {
  readonly #options: ClientOptions
  /** Hash of the state, while known. */
  #state: string | undefined
  /** The last requests with their answers, to reproduce a failure. */
  readonly trace: string[] = []

  constructor(options: ClientOptions) {
    this.#options = options
  }

  async send(call: Call): Promise<TestResponse> {
    const { tally } = this.#options
    const before = call.isUnsettled ? undefined : (this.#state ?? (await this.#readState()))
    const answer = await this.#deliverPatiently(call)
    this.trace.push(`${JSON.stringify(call)}\n  -> ${answer.status} ${JSON.stringify(answer.body)}`)
    if (this.trace.length > 400) this.trace.shift()
    const { method, path, body, raw } = call
    // Polling a job is no input.
    if (!call.isUnsettled || method !== 'GET')
      tally.add(findOperation(method, path)?.id ?? 'no operation', answer.status)
    if (answer.status >= 500) throw new Mismatch(`${method} ${path}: answered ${answer.status}`)
    expectConformant(strict, method, path, answer)
    if (body !== undefined && raw === undefined) checkBody(call, answer)
    const isRead = method === 'GET' || call.isRepeated
    this.#state = answer.status >= 400 || isRead ? before : undefined
    if ((answer.status >= 400 || call.isRepeated) && before !== undefined)
      expectEqual(await this.#readState(), before, `${method} ${path}: state after a refusal`)
    return answer
  }

  async #readState(): Promise<string> {
    this.#state = await this.#options.dump.hashOf(this.#options.account)
    return this.#state
  }

  /** Repeats the request after `Retry-After` while the service is overloaded. */
  async #deliverPatiently(call: Call): Promise<TestResponse> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#deliver(call)
      const isTold = ['overloaded', 'unavailable'].includes(answer.body?.type)
      if (!isTold || attempt === attemptsMax) return answer
      this.#options.tally.addRefusal(answer.body)
      await sleep(Number(answer.headers['retry-after']) * 1000)
    }
  }

  async #deliver({ method, path, body, raw, headers }: Call): Promise<TestResponse> {
    const { deliver, token } = this.#options
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await deliver({
      method,
      url: path,
      headers: {
        authorization: `jwt ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(payload !== undefined && { payload }),
    })
    const isJson = String(response.headers['content-type']).includes('json')
    const { statusCode: status, headers: given } = response
    return { status, headers: given, body: isJson ? JSON.parse(response.body) : response.body }
  }
}

/** A body that breaks the contract must be answered 400 with every pointer, if it can be parsed. */
function checkBody({ method, path, body }: Call, answer: TestResponse): void {
  const faults = bodyFaults(method, path, JSON.parse(JSON.stringify(body)))
  if (faults.length === 0 || [401, 403, 406, 415].includes(answer.status)) return
  expectEqual(
    answer.status,
    400,
    `${method} ${path}: an invalid body (${faults.join(', ').slice(0, 300)})`,
  )
  const named = (answer.body.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)
  const missing = faults.filter((pointer) => !named.includes(pointer))
  expectEqual(missing, [], `${method} ${path}: places that are not named`)
}
