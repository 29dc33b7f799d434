import pg from 'pg'
import { findOperation } from '../../../helpers/conformant.ts'
import type { Deliver, Request } from '../client.ts'
import type { Target } from '../sessions.ts'

/** A bug to plant in the service. */
export interface PlantedBug {
  /** What goes wrong. */
  name: string
  /** The operation that shows it. */
  operation: string
  /** The target with the bug; `remove` takes it out again. */
  plant: (target: Target) => { target: Target; remove: () => void }
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of any operation.
type Body = any
type Answer = Awaited<ReturnType<Deliver>>

function delivering(
  change: (target: Target, deliver: Deliver, request: Request) => Promise<Answer>,
) {
  return (target: Target) => ({
    target: { ...target, deliver: (request: Request) => change(target, target.deliver, request) },
    remove: () => undefined,
  })
}

const isOf = (operation: string, { method, url }: Request) =>
  findOperation(method, url)?.id === operation

/** Changes the body that the service receives, in place or by returning another. */
export function bodyBug(name: string, operation: string, change: (body: Body) => Body): PlantedBug {
  const plant = delivering((_, deliver, request) => {
    const body = isOf(operation, request) && parsed(request.payload)
    if (!body) return deliver(request)
    return deliver({ ...request, payload: JSON.stringify(change(body) ?? body) })
  })
  return { name, operation, plant }
}

/** Changes the request that the service receives. */
export function requestBug(
  name: string,
  operation: string,
  change: (request: Request, target: Target) => Request,
): PlantedBug {
  const plant = delivering((target, deliver, request) =>
    deliver(isOf(operation, request) ? change(request, target) : request),
  )
  return { name, operation, plant }
}

/** Changes the answer: its body in place, or status and body. */
export function answerBug(
  name: string,
  operation: string,
  change: (
    body: Body,
    answer: Answer,
    request: Request,
    target: Target,
  ) => void | Partial<Answer> | Promise<void>,
): PlantedBug {
  const plant = delivering(async (target, deliver, request) => {
    const answer = await deliver(request)
    if (!isOf(operation, request)) return answer
    const body = parsed(answer.body)
    const changed = await change(body, answer, request, target)
    const { statusCode, headers } = answer
    return { statusCode, headers, body: body ? JSON.stringify(body) : answer.body, ...changed }
  })
  return { name, operation, plant }
}

let planted = 0

/** Changes the text of a statement. */
export function statementBug(
  name: string,
  operation: string,
  text: RegExp,
  instead: string,
): PlantedBug {
  const plant = (target: Target) => {
    const { query } = pg.Client.prototype
    const suffix = ` ${planted++}`
    const rewrite = (statement: string) => statement.replace(text, instead)
    pg.Client.prototype.query = function (this: pg.Client, ...[first, ...rest]: Body[]): Body {
      const isText = typeof first === 'string'
      if (isText) return (query as Body).call(this, rewrite(first), ...rest)
      const renamed = first?.name && { name: first.name + suffix }
      if (first instanceof pg.Query)
        Object.assign(first, { text: rewrite((first as Body).text), ...renamed })
      if (typeof first?.text !== 'string' || first.submit)
        return (query as Body).call(this, first, ...rest)
      return (query as Body).call(
        this,
        { ...first, text: rewrite(first.text), ...renamed },
        ...rest,
      )
    }
    const remove = () => {
      pg.Client.prototype.query = query
    }
    return { target, remove }
  }
  return { name, operation, plant }
}

/** The parsed body, if a client wrote it with JSON.stringify; undefined for bodies that are malformed on purpose. */
function parsed(text: string | Buffer | undefined): Body {
  try {
    const body = JSON.parse(String(text))
    return JSON.stringify(body) === text ? body : undefined
  } catch {
    return undefined
  }
}
