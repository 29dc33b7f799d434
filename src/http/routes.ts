import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import glue from 'fastify-openapi-glue'
import { type Operation, operations, readContract } from '../contract/document.ts'
import { compileParameters, type ParameterSchema } from '../contract/validation.ts'
import type { Authenticate, Caller } from './authentication.ts'
import { addBodyParsers } from './body-parsers.ts'
import { decodeBody } from './gzip-bodies.ts'
import { rejectUndeclaredMethods } from './method-not-allowed.ts'
import { type OperationServices, operationRoute } from './operations.ts'
import { type Admission, createAdmission } from './overload/admission-control.ts'
import { rejectWhileClosing } from './overload/while-closing.ts'
import { firstChecks, noSuchPath } from './preconditions.ts'

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
): Promise<Admission> {
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
  return admission
}

/** Operations of accounts are taken up while there is room, and none once the server closes. */
function admitRequests(app: FastifyInstance, { service }: OperationServices, admission: Admission) {
  const rejectClosing = rejectWhileClosing(app)
  app.addHook('onRequest', async (request, reply) => {
    const { operation } = request.routeOptions.config
    if (operation === undefined || operation.id in service) return
    rejectClosing()
    try {
      admission.admit(operation, request, reply)
    } catch (refused) {
      admission.pace.count(request.caller?.account ?? 0, request.raw)
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
