import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import glue from 'fastify-openapi-glue'
import { findOperation, type Operation, operations, readContract } from '../contract/document.ts'
import type { Handler, OperationId } from '../contract/operation.ts'
import { clientGone, Problem } from '../contract/problem.ts'
import { countRows } from '../contract/row-slices.ts'
import { type ParameterSchema, parameterCheck } from '../contract/validation.ts'
import { exportRows } from '../feeds/export.ts'
import { FeedBytes } from '../feeds/feed-bytes.ts'
import { operationExport } from '../feeds/feeds.ts'
import { runOperation } from './execute.ts'
import { takeFile } from './file-routes.ts'
import type { Implementation, OperationCall, OperationServices } from './handlers.ts'
import * as implementations from './handlers.ts'
import type { ServiceOperation } from './health.ts'
import { rejectUndeclaredMethods } from './method-not-allowed.ts'
import {
  chooseMediaType,
  noSuchPath,
  rejectByteOrderMark,
  rejectContradiction,
} from './preconditions.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
  }
}

/** Maps the operations of the contract to their handlers. */
export async function registerOperations(
  app: FastifyInstance,
  services: OperationServices,
): Promise<void> {
  const served = servedOperations(services)
  app.setNotFoundHandler(() => {
    throw noSuchPath()
  })
  // runOperation validates bodies: it finds all faults, and lets other requests run meanwhile.
  app.setValidatorCompiler(({ schema, httpPart }) =>
    httpPart === 'body' ? () => true : parameterCheck(schema as ParameterSchema, httpPart),
  )
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(glue, {
    specification: contractOfRequests(served),
    operationResolver: (id: string) => operationRoute(findOperation(id), services) as RouteOptions,
  })
  rejectUndeclaredMethods(app, served)
}

/** The operations that this process serves: metrics only with a token, and a worker only those about the service. */
function servedOperations({ config, service }: OperationServices): Operation[] {
  return operations.filter(({ id }) => {
    if (id === 'readMetrics') return config.metricsToken !== undefined
    return config.role !== 'worker' || id in service
  })
}

/** The contract without its responses: tests check them, and they need no serializer. */
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

/** Anyone may send a login, without a token. */
const openBodyBytesMax = 64 * 1024

/** The handlers of all operations but those about the service itself. A missing one is a type error. */
const handlers: { [Id in Exclude<OperationId, ServiceOperation>]: Handler<Id> } = implementations

/** The route of an operation: its last checks before the handler, and the handler. */
function operationRoute(operation: Operation, services: OperationServices): Partial<RouteOptions> {
  if (operation.id in services.service) {
    const handler = services.service[operation.id as ServiceOperation]
    return { config: { operation }, handler } as Partial<RouteOptions>
  }
  const handler = handlers[operation.id as keyof typeof handlers] as unknown as Handler<OperationId>
  const implementation: Implementation = { handler, operation }
  return {
    config: { operation, isShed: true },
    ...(operation.scope === undefined && { bodyLimit: openBodyBytesMax }),
    preValidation: (request, _reply, done) => {
      rejectBody(request, operation, services.config.limits.rowsMax)
      rejectContradiction(request)
      done()
    },
    handler: (request, reply) => {
      if (reply.raw.destroyed) throw clientGone()
      const run = () =>
        services.priceReads.follow(operation, request.caller?.account ?? 0, () =>
          answer({ ...implementation, services, request, reply }),
        )
      return request.heldBody?.during(run) ?? run()
    },
  } as Partial<RouteOptions>
}

/** Loads or exports a file if the request calls for one; otherwise runs the handler. */
function answer(call: OperationCall): Promise<FastifyReply> {
  const { operation, request } = call
  const { answers, fileAnswers } = operation
  if (request.body instanceof FeedBytes) return takeFile(request.body, call)
  const mediaType = (answers && chooseMediaType(request, answers)) ?? ''
  rejectByteOrderMark(request, mediaType)
  const handler = fileAnswers.includes(mediaType)
    ? exportRows(operationExport(operation), mediaType)
    : call.handler
  return runOperation({ ...call, handler })
}

/** Refuses a missing body, and more rows than a call takes, before the rows are validated. */
function rejectBody({ body }: FastifyRequest, operation: Operation, rowsMax: number): void {
  if (!operation.hasBody) return
  if (body === undefined) throw new Problem('malformed-body', 'Send a JSON body.')
  const rows = countRows(body) ?? 0
  if (rows > rowsMax) {
    const detail = `A call takes at most ${rowsMax} rows, this one has ${rows}. Send them in several calls.`
    throw new Problem('payload-too-large', detail)
  }
}
