import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import glue from 'fastify-openapi-glue'
import { Problem } from '../contract/problem.ts'
import type { Authenticate, Caller } from './authentication.ts'
import { type Operation, operations, readContract, routeUrl } from './contract.ts'
import { hashBody } from './idempotency.ts'
import { parseJson } from './json-body.ts'
import { type OperationServices, operationRoute } from './operations.ts'
import { replyProblem } from './problem-reply.ts'
import { rejectUnreadableQuery } from './query.ts'
import { compileParameters } from './validation.ts'

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

const allMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Puts the contract's operations on the server, with everything that holds for all of them. */
export async function registerContract(
  app: FastifyInstance,
  services: OperationServices,
  authenticate: Authenticate,
): Promise<void> {
  app.setErrorHandler(replyProblem)
  app.setNotFoundHandler(() => {
    throw new Problem('not-found', 'There is no such path.')
  })
  app.addHook('onRequest', async (request) => {
    await admit(request, authenticate)
    rejectUnacceptable(request)
    rejectEncoding(request)
    rejectUnreadableQuery(request)
  })
  app.removeAllContentTypeParsers()
  for (const mediaType of new Set(operations.flatMap(({ mediaTypes }) => mediaTypes))) {
    app.addContentTypeParser(
      mediaType,
      { parseAs: 'buffer' },
      async (request: FastifyRequest, body: Buffer) => {
        rejectMediaType(request, mediaType)
        if (request.headers['idempotency-key']) request.bodyHash = hashBody(body)
        return parseJson(body)
      },
    )
  }
  // Bodies are validated by runHandler, which needs all faults and gives other requests their turn.
  app.setValidatorCompiler(({ schema, httpPart }) =>
    httpPart === 'body' ? () => true : compileParameters(schema, httpPart),
  )
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(glue, {
    specification: contractOfRequests(),
    operationResolver: (id: string) => operationRoute(findOperation(id), services) as RouteOptions,
  })
  rejectOtherMethods(app)
}

/** The contract without its answers: they are checked by the tests and need no serializer. */
function contractOfRequests(): object {
  const contract = readContract()
  for (const item of Object.values<Record<string, { responses?: object }>>(contract.paths)) {
    for (const operation of Object.values(item))
      if (operation.responses) operation.responses = { default: { description: '' } }
  }
  return contract
}

/** Who sends the request, from its headers alone: before the body is read and before a connection is taken. */
async function admit(request: FastifyRequest, authenticate: Authenticate): Promise<void> {
  const { operation, isOpen } = request.routeOptions.config
  if (isOpen || (operation && operation.scope === undefined)) return
  request.caller = await authenticate(request)
  if (operation?.scope && !request.caller.scopes.has(operation.scope)) {
    throw new Problem('forbidden', `The token lacks the scope "${operation.scope}".`)
  }
}

function rejectUnacceptable(request: FastifyRequest): void {
  const { accept } = request.headers
  const { operation } = request.routeOptions.config
  if (accept === undefined || operation?.scope === undefined) return
  const { mediaType } = operation
  const taken = new Set([mediaType, mediaType.replace(/\/.*/, '/*'), '*/*'])
  if (mediaType === 'application/json') taken.add('application/problem+json')
  const ranges = accept.split(',').map((range) => range.replace(/;.*/s, '').trim().toLowerCase())
  if (!ranges.some((range) => taken.has(range)))
    throw new Problem('not-acceptable', `Send "Accept: ${mediaType}", or no Accept header.`)
}

/** Bodies are plain UTF-8. */
function rejectEncoding({ headers }: FastifyRequest): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1]
  const encoding = headers['content-encoding'] ?? 'identity'
  if ((charset && !/^utf-?8$/i.test(charset)) || encoding.toLowerCase() !== 'identity') {
    throw new Problem(
      'unsupported-media-type',
      'Send the body as application/json in UTF-8, without Content-Encoding.',
    )
  }
}

/** A body of a type that its operation does not declare would not be validated. */
function rejectMediaType({ routeOptions }: FastifyRequest, mediaType: string): void {
  const taken = routeOptions.config.operation?.mediaTypes ?? [mediaType]
  if (!taken.includes(mediaType)) {
    const detail = `Send the body as ${taken.join(' or ')} in UTF-8.`
    throw new Problem('unsupported-media-type', detail)
  }
}

function findOperation(id: string): Operation {
  const operation = operations.find((candidate) => candidate.id === id)
  if (!operation) throw new Error(`the contract has no operation ${id}`)
  return operation
}

/** A path of the contract with a method that it does not have is 405, not 404. */
function rejectOtherMethods(app: FastifyInstance): void {
  for (const [path, present] of Map.groupBy(operations, ({ path }) => path)) {
    const methods = new Set(
      present.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    )
    const allow = [...methods].join(', ')
    app.route({
      method: allMethods.filter((method) => !methods.has(method)),
      url: routeUrl(path),
      config: { isOpen: present.every(({ scope }) => scope === undefined) },
      // A body would be refused for its type before the method is.
      onRequest: () =>
        Promise.reject(
          new Problem('method-not-allowed', `This path takes ${allow}.`, { headers: { allow } }),
        ),
      handler: () => undefined,
    })
  }
}
