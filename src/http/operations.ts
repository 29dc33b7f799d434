import type { FastifyRequest, RouteOptions } from 'fastify'
import type { Config } from '../config.ts'
import type { Operation } from '../contract/document.ts'
import type { FindFaults } from '../contract/incremental-validation.ts'
import type { Context, Handler, OperationId } from '../contract/operation.ts'
import { clientGone } from '../contract/overloaded.ts'
import { Problem } from '../contract/problem.ts'
import { rowsOf } from '../contract/row-count.ts'
import { compileBody } from '../contract/validation.ts'
import type { Pools } from '../pools.ts'
import { runOperation } from './execute.ts'
import { handlers } from './handlers.ts'
import type { ServiceHandlers, ServiceOperation } from './health.ts'
import type { Admission } from './overload/admission-control.ts'
import type { Turns } from './overload/bulkheads.ts'
import { rejectOtherList } from './query.ts'

export interface OperationServices {
  pools: Pools
  context: Context
  service: ServiceHandlers
  config: Config
  turns: Turns
}

/** An e-mail and a password, of who may be anybody. */
const openBodyBytesMax = 64 * 1024

/** Route options of an operation: what is checked before its handler runs, and how its result is answered. */
export function operationRoute(
  operation: Operation,
  services: OperationServices,
  { queueOf, turns, unread }: Admission,
): Partial<RouteOptions> {
  const config = { operation }
  if (operation.id in services.service) {
    const handler = services.service[operation.id as ServiceOperation]
    return { config, handler } as Partial<RouteOptions>
  }
  const handler = handlers[operation.id as keyof typeof handlers] as unknown as Handler<OperationId>
  const findFaults: FindFaults = operation.hasBody ? compileBody(operation) : async () => undefined
  const queue = queueOf(operation)
  const implementation = { handler, operation, findFaults, queue, turns, unread }
  return {
    config,
    ...(operation.scope === undefined && { bodyLimit: openBodyBytesMax }),
    preValidation: async (request) => {
      rejectBody(request, operation, services.config.limits.rowsMax)
      rejectOtherList(request)
    },
    handler: (request, reply) => {
      if (reply.raw.destroyed) throw clientGone()
      const run = () => runOperation(implementation, services, request, reply)
      return request.heldBody?.during(run) ?? run()
    },
  } as Partial<RouteOptions>
}

/** A body that is missing, or has more rows than a call takes: found before the rows are validated. */
function rejectBody({ body }: FastifyRequest, operation: Operation, rowsMax: number): void {
  if (!operation.hasBody) return
  if (body === undefined) throw new Problem('malformed-body', 'Send a JSON body.')
  const rows = rowsOf(body)?.length ?? 0
  if (rows > rowsMax) {
    const detail = `A call takes at most ${rowsMax} rows, this one has ${rows}. Send them in several calls.`
    throw new Problem('payload-too-large', detail)
  }
}
