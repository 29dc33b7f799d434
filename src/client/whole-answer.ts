import { Unreachable } from './problem.ts'

/** The same answer; reading its body throws `Unreachable` where the connection breaks before its end. */
export function wholeAnswer(response: Response): Response {
  const { body, url } = response
  if (body === null) return response
  const reader = body.getReader()
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { done, value } = await reader.read().catch((error) => {
      throw brokenOff(error, url)
    })
    if (done) controller.close()
    else controller.enqueue(value)
  }
  const cancel = (reason: unknown) => reader.cancel(reason)
  const read = new ReadableStream<Uint8Array>({ pull, cancel }, { highWaterMark: 0 })
  return Object.defineProperty(new Response(read, response), 'url', { value: url })
}

/** An abort is the caller's own wish. */
function brokenOff(error: unknown, url: string): unknown {
  if (!(error instanceof TypeError)) return error
  const service = URL.canParse(url) ? new URL(url).origin : 'The service'
  return new Unreachable(`${service} broke off in the middle of its answer.`, { cause: error })
}
