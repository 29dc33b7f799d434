import { METHODS } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import glue from 'fastify-openapi-glue'
import type { Limits } from '../config.ts'
import { Problem } from '../contract/problem.ts'
import { chooseMediaType } from './accept.ts'
import { createAdmission } from './admission.ts'
import type { Authenticate, Caller } from './authentication.ts'
import {
  fileTypes,
  isFile,
  type Operation,
  operations,
  readContract,
  routeUrl,
} from './contract.ts'
import { FeedBytes } from './files/feed-bytes.ts'
import { setHeaders } from './headers.ts'
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

/** Every method that Node can read, but CONNECT, which is no request for a path. */
const allMethods = METHODS.filter((method) => method !== 'CONNECT')

/** Puts the contract's operations on the server, with everything that holds for all of them. */
export async function registerContract(
  app: FastifyInstance,
  services: OperationServices,
  authenticate: Authenticate,
): Promise<void> {
  const served = servedOperations(services)
  app.setErrorHandler(replyProblem)
  app.setNotFoundHandler(() => {
    throw noSuchPath()
  })
  const admission = createAdmission(app, services.config)
  app.addHook('onRequest', async (request, reply) => {
    setHeaders(request, reply)
    rejectNoHost(request)
    await admit(request, authenticate)
    rejectUnacceptable(request)
    rejectEncoding(request)
    rejectUnreadableQuery(request)
    limitArrival(app, request, services.config.load.arrivalMs)
    const { operation } = request.routeOptions.config
    const isOfService = operation === undefined || operation.id in services.service
    if (!isOfService) admission.admit(operation, request, reply)
  })
  app.removeAllContentTypeParsers()
  for (const mediaType of new Set(operations.flatMap(({ mediaTypes }) => mediaTypes))) {
    if (fileTypes.includes(mediaType)) {
      addFileParser(app, mediaType, services.context.limits)
      continue
    }
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
    specification: contractOfRequests(served),
    operationResolver: (id: string) =>
      operationRoute(findOperation(id), services, admission) as RouteOptions,
  })
  rejectOtherMethods(app, served)
}

/** What this process answers: metrics where they have a token, and a worker speaks of itself only. */
function servedOperations({ config, service }: OperationServices): Operation[] {
  return operations.filter(({ id }) => {
    if (id === 'readMetrics') return config.metricsToken !== undefined
    return config.role !== 'worker' || id in service
  })
}

/** A file is not read here but as its operation takes the rows. */
function addFileParser(
  app: FastifyInstance,
  mediaType: string,
  { feedBytesMax: bytesMax }: Limits,
): void {
  app.addContentTypeParser(mediaType, async (request: FastifyRequest) => {
    rejectMediaType(request, mediaType)
    const [, query = ''] = request.url.split(/\?(.*)/s)
    return new FeedBytes({
      stream: request.raw,
      mediaType,
      isGzip: isGzip(request),
      query,
      bytesMax,
    })
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

/** Answers a path that cannot be decoded, or an id in it that is too long, like one that does not exist. */
export function answerBadPath(authenticate: Authenticate) {
  return async (_error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const problem = await authenticate(request).then(noSuchPath, (refusal: unknown) => refusal)
    setHeaders(request, reply)
    replyProblem(problem, request, reply)
  }
}

function noSuchPath(): Problem {
  return new Problem('not-found', 'There is no such path.')
}

function rejectNoHost({ raw }: FastifyRequest): void {
  if (raw.headers.host === undefined && raw.httpVersion === '1.1')
    throw new Problem('malformed-body', 'The request has no Host header.')
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
  const answers = request.routeOptions.config.operation?.answers
  if (accept === undefined || answers === undefined) return
  if (!chooseMediaType(accept, [...answers, 'application/problem+json']))
    throw new Problem('not-acceptable', `Send "Accept: ${answers[0]}", or no Accept header.`)
}

/** A body is there in time; that of a file may take as long as it goes on. */
function limitArrival(
  app: FastifyInstance,
  { raw, headers }: FastifyRequest,
  bodyMs: number,
): void {
  const hasBody = headers['transfer-encoding'] ?? headers['content-length']
  if (!hasBody || isFile(headers['content-type'])) return
  const late = Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  const refuse = () => app.server.emit('clientError', late, raw.socket)
  const timer = setTimeout(refuse, bodyMs).unref()
  for (const event of ['end', 'close']) raw.once(event, () => clearTimeout(timer))
}

/** Bodies are plain UTF-8; files may be compressed. */
function rejectEncoding(request: FastifyRequest): void {
  const { headers } = request
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1]
  const encoding = headers['content-encoding'] ?? 'identity'
  const isTaken =
    encoding.toLowerCase() === 'identity' || (isGzip(request) && isFile(headers['content-type']))
  if ((charset && !/^utf-?8$/i.test(charset)) || !isTaken) {
    throw new Problem(
      'unsupported-media-type',
      'Send the body as application/json in UTF-8, without Content-Encoding.',
    )
  }
}

function isGzip({ headers }: FastifyRequest): boolean {
  return headers['content-encoding']?.toLowerCase() === 'gzip'
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
function rejectOtherMethods(app: FastifyInstance, served: Operation[]): void {
  for (const method of allMethods) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
  for (const [path, present] of Map.groupBy(served, ({ path }) => path)) {
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
