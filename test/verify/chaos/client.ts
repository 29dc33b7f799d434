import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { Outages } from './outages.ts'

/** The result of a request; status 0: no answer. */
export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: each caller knows what it asked for.
  body: any
  ms: number
}

export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>

export interface ClientOptions {
  url: () => string
  token: string
  outages: Outages
  /** Called with every answer that breaks a promise. */
  onFault: (fault: string) => void
}

const hungMs = 35_000

/** Sends requests in the name of an account. Answers that the contract does not allow during faults are noted. */
export function createClient({ url, token, outages, onFault }: ClientOptions): Send {
  return async (method, path, body, headers = {}) => {
    const began = Date.now()
    const target = new URL(path, url())
    const authorization = `jwt ${token}`
    const answer = await exchange(target, method, { authorization, ...headers }, body)
    const ms = Date.now() - began
    const fault = faultOf(method, { ...answer, ms }, outages, began)
    if (fault) onFault(`${method} ${path}: ${fault}`)
    return { ...answer, ms }
  }
}

function faultOf(
  method: string,
  answer: Answer,
  outages: Outages,
  began: number,
): string | undefined {
  const { status, headers, body, ms } = answer
  if (ms > hungMs) return `hung for ${ms} ms`
  if (status === 0) return outages.covers(began) ? undefined : `no answer: ${body}`
  if (status >= 200 && status < 300) return undefined
  if (body?.type === 'idempotency-key-in-use' || body?.type === 'job-ended') return undefined
  if (status === 404 && method === 'DELETE') return undefined
  if (status !== 503 && status !== 429) return `${status} ${JSON.stringify(body)}`
  return /^\d+$/.test(String(headers['retry-after'])) ? undefined : `${status} without Retry-After`
}

/** One connection per request: the other side may close a kept one just before the next request. */
function exchange(
  url: URL,
  method: string,
  headers: Record<string, string>,
  body: unknown,
): Promise<Omit<Answer, 'ms'>> {
  return new Promise((resolve) => {
    const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const lost = (error: Error) => resolve({ status: 0, headers: {}, body: error.message })
    const request = httpRequest(url, {
      method,
      agent: false,
      headers: { ...(payload !== undefined && { 'content-type': 'application/json' }), ...headers },
    })
    request.setTimeout(hungMs + 5000, () => request.destroy(new Error('timed out')))
    request.on('error', lost)
    request.on('response', async (response) => {
      try {
        const chunks: Buffer[] = []
        for await (const chunk of response) chunks.push(chunk)
        const text = Buffer.concat(chunks).toString()
        const isJson = response.headers['content-type']?.includes('json')
        const { statusCode = 0 } = response
        resolve({
          status: statusCode,
          headers: response.headers,
          body: isJson ? JSON.parse(text) : text,
        })
      } catch (error) {
        lost(error as Error)
      }
    })
    request.end(payload)
  })
}
