import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import glue from 'fastify-openapi-glue'
import type { Config } from '../config.ts'
import { type Operation, operations, readContract } from '../contract/document.ts'
import { type FindFaults, rowsOf } from '../contract/incremental-validation.ts'
import type { Context, Handler, OperationId } from '../contract/operation.ts'
import { clientGone, Problem } from '../contract/problem.ts'
import { compileBody, compileParameters, type ParameterSchema } from '../contract/validation.ts'
import type { Pools } from '../pools.ts'
import type { Authenticate, Caller } from './authentication.ts'
import { addBodyParsers, decodeBody } from './body-parsers.ts'
import { runOperation } from './execute.ts'
import { handlers } from './handlers.ts'
import type { ServiceHandlers, ServiceOperation } from './health.ts'
import { rejectUndeclaredMethods } from './method-not-allowed.ts'
import {
  type Admission,
  createAdmission,
  rejectWhileClosing,
  Throttle,
} from './overload/admission-control.ts'
import type { Turns } from './overload/bulkheads.ts'
import { firstChecks, noSuchPath, rejectOtherList } from './preconditions.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller?: Caller
    bodyHash?: Buffer
  }
  interface FastifyContextConfig {
    operation?: Operation
    isOpen?: boolean
  }
}

/** Puts the contract's operations on the server, with everything that holds for all of them, and decides who is admitted. */
export async function registerContract(
  app: FastifyInstance,
  services: OperationServices,
  authenticate: Authenticate,
): Promise<void> {
  const served = servedOperations(services)
  app.setNotFoundHandler(() => {
    throw noSuchPath()
  })
  // Before admission counts the bytes of a body: those that are decoded take the memory.
  app.addHook('preParsing', decodeBody)
  const admission = createAdmission(app, services.config, services.turns)
  app.addHook('onRequest', firstChecks(app, authenticate, services.config.load.arrivalMs))
  admitRequests(app, services, admission)
  addBodyParsers(app, services.context.limits, admission.refusal)
  // Bodies are validated by runOperation, which needs all faults and gives other requests their turn.
  app.setValidatorCompiler(({ schema, httpPart }) =>
    httpPart === 'body' ? () => true : compileParameters(schema as ParameterSchema, httpPart),
  )
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(glue, {
    specification: contractOfRequests(served),
    operationResolver: (id: string) =>
      operationRoute(findOperation(id), services, admission) as RouteOptions,
  })
  rejectUndeclaredMethods(app, served)
}

/** Operations of accounts are taken up while there is room, and none once the server closes. */
function admitRequests(app: FastifyInstance, { service }: OperationServices, admission: Admission) {
  const rejectClosing = rejectWhileClosing(app)
  const throttle = new Throttle()
  app.addHook('onRequest', async (request, reply) => {
    const { operation } = request.routeOptions.config
    if (operation === undefined || operation.id in service) return
    rejectClosing()
    try {
      admission.admit(operation, request, reply)
    } catch (refused) {
      await sleep(throttle.delayMs(request.caller?.account ?? 0))
      throw refused
    }
  })
}

/** What this process answers: metrics where they have a token, and a worker speaks of itself only. */
function servedOperations({ config, service }: OperationServices): Operation[] {
  return operations.filter(({ id }) => {
    if (id === 'readMetrics') return config.metricsToken !== undefined
    return config.role !== 'worker' || id in service
  })
}

/** The contract without its answers: they are checked by the tests and need no serializer. */
function contractOfRequests(served: Operation[]): object {
  const contract = readContract()
  const paths = new Set(served.map(({ path }) => path))
  for (const path of Object.keys(contract.paths)) if (!paths.has(path)) delete contract.paths[path]
  for (const item of Object.values<Record<string, { responses?: object }>>(contract.paths)) {
    for (const operation of Object.values(item))
      if (operation.responses) operation.responses = { default: { description: '' } }
  }
  return contract
}

/** A path that no operation, page or document has. */
const absentPath = '/absent'

/** Answers a path that cannot be decoded, or an id in it that is too long, like one that does not exist. */
export function routeBadPath(app: FastifyInstance, { raw }: FastifyRequest, reply: FastifyReply) {
  raw.url = absentPath
  app.routing(raw, reply.raw)
}

function findOperation(id: string): Operation {
  const operation = operations.find((candidate) => candidate.id === id)
  if (!operation) throw new Error(`the contract has no operation ${id}`)
  return operation
}

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
function operationRoute(
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
