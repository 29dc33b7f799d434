import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { wrongMediaType } from '../contract/document.ts'
import {
  clientGone,
  Problem,
  type ProblemType,
  problemBody,
  problemTypes,
  unauthorized,
  unavailable,
} from '../contract/problem.ts'
import { invalidRequest } from '../contract/row-errors.ts'
import { parameterError } from '../contract/validation.ts'
import {
  CommitInDoubt,
  isAccountMissing,
  isTimeout,
  isUnavailable,
  sqlStateOf,
} from '../database/errors.ts'
import { FeedBytes } from '../feeds/feed-bytes.ts'
import { helpLink, pathPrefixOf } from './headers.ts'
import { isGzip, noSuchPath } from './preconditions.ts'

/** Sends any failure as problem details. The cause goes to the log, never to the client. */
export function replyProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problem = isOfGoneClient(error, reply) ? clientGone() : toProblem(error, request)
  const { status } = problemTypes[problem.type]
  noteProblem(problem, request)
  // Fastify closes the connection when it refuses a body, and a client that is still sending often loses the response.
  // Instead the rest is read and discarded, as after every other refusal; the rest of a file only for a while.
  if (request.raw.complete || !(request.body instanceof FeedBytes)) reply.removeHeader('connection')
  reply
    .code(status)
    .headers(problem.options.headers ?? {})
    .header('link', helpLink(pathPrefixOf(request), problem.type))
    .type('application/problem+json')
    .send(
      JSON.stringify({ ...problemBody(problem, request.id), detail: detailOf(problem, request) }),
    )
}

/** Logs and counts the error that broke off a response, with the status it would have had. */
export function noteBrokenAnswer(error: unknown, request: FastifyRequest): void {
  const problem = toProblem(error, request)
  request.brokenOff = problemTypes[problem.type].status
  noteProblem(problem, request)
}

function noteProblem(problem: Problem, request: FastifyRequest): void {
  request.problem = problem.type
  request.sqlState = sqlStateOf(problem)
  // Under overload, logging an error for each refusal would add even more work.
  if (problemTypes[problem.type].status >= 500 && problem.type !== 'overloaded')
    request.log.error({ err: problem.cause ?? problem, problem: problem.type }, 'request failed')
}

/** Fastify reports a failure if the client disconnects before the headers of a stream are sent. */
function isOfGoneClient(error: unknown, { raw }: FastifyReply): boolean {
  return raw.destroyed && (error as { code?: string }).code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** A refused write says what became of the other rows. */
function detailOf({ type, message }: Problem, { routeOptions }: FastifyRequest): string {
  const { scope, isRead } = routeOptions.config.operation ?? {}
  const isWrite = scope !== undefined && !isRead
  return isWrite && type === 'invalid-request' ? `${message} Nothing was written.` : message
}

const places: Record<string, 'path' | 'query' | 'header'> = { params: 'path', headers: 'header' }

function toProblem(error: unknown, request: FastifyRequest): Problem {
  if (error instanceof Problem) return error
  const {
    code = '',
    validation,
    validationContext,
    statusCode,
  } = error as FastifyError & { code?: string }
  if (validation) {
    const place = places[validationContext ?? ''] ?? 'query'
    return invalidRequest(
      (validation as Parameters<typeof parameterError>[0][]).map((fault) =>
        parameterError(fault, place),
      ),
    )
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(request)
  const { operation } = request.routeOptions.config
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' && operation) return wrongMediaType(operation)
  if (error instanceof CommitInDoubt) return outcomeUnknown(error)
  if (isAccountMissing(error))
    return unauthorized('The account of the token does not exist.', error)
  if (statusCode === forbiddenFile) return noSuchPath()
  const type = clientFaults[statusCode ?? 500]
  if (type) return new Problem(type, 'The request cannot be read.', { cause: error })
  if (sqlStateOf(error) === lockNotAvailable)
    return unavailable(
      'Other work on the same rows takes longer than this call may wait.',
      1,
      error,
    )
  if (isTimeout(error))
    return unavailable('The call took longer than it may. Send less in one call.', 1, error)
  return isUnavailable(error)
    ? unavailable('The database is not available now.', 1, error)
    : internalError(error)
}

const lockNotAvailable = '55P03'

/** The documentation's status for a path that leads out of its folder or contains a NUL. */
const forbiddenFile = 403

const clientFaults: Record<number, ProblemType> = {
  400: 'malformed-body',
  404: 'not-found',
  413: 'payload-too-large',
}

/** The problem for a body over its operation's limit, with the body's size if known. */
export function bodyTooLarge(request: FastifyRequest): Problem {
  const size = isGzip(request) ? undefined : request.headers['content-length']
  const { bodyLimit, config } = request.routeOptions
  const isLogin = config.operation?.scope === undefined
  const advice = isLogin ? '' : ' Send it in several calls.'
  const limit = `${bodyLimit} bytes${isGzip(request) ? ' when decoded' : ''}`
  const detail = `The body limit is ${limit}, this one has ${size ?? 'more'}.${advice}`
  return new Problem('payload-too-large', detail)
}

function outcomeUnknown(cause: unknown): Problem {
  const detail =
    'The connection to the database broke as this was being written: it may have been written or not. Send it again with the same Idempotency-Key, or look.'
  return new Problem('outcome-unknown', detail, { headers: { 'retry-after': '1' }, cause })
}

function internalError(cause: unknown): Problem {
  return new Problem(
    'internal-error',
    'Something went wrong here. The request id finds it in the log.',
    { cause },
  )
}
