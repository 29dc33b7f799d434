import { randomUUID } from 'node:crypto'
import { type Problem, problemTypes } from '../contract/problem.ts'
import { protectiveHeaders } from './headers.ts'
import { problemBody } from './problem-reply.ts'

/** An answer but for the id of its request. */
interface Template {
  status: number
  headers: Record<string, string | number>
  beforeId: string
  afterId: string
}

/** Of problems that are given again and again: making an answer anew takes a tenth of a refusal. */
const templates = new WeakMap<Problem, Template>()

/** A problem as the answer to a request that no route has: what Fastify would have done for it is done here. */
export function bareAnswer(problem: Problem): {
  id: string
  status: number
  headers: Record<string, string | number>
  body: string
} {
  const id = randomUUID()
  const { status, headers, beforeId, afterId } = templates.get(problem) ?? addTemplate(problem)
  return { id, status, headers: { ...headers, 'x-request-id': id }, body: beforeId + id + afterId }
}

function addTemplate(problem: Problem): Template {
  const id = randomUUID()
  const body = JSON.stringify(problemBody(problem, id))
  const [beforeId = '', afterId = ''] = body.split(id)
  const headers = {
    ...protectiveHeaders,
    ...problem.options.headers,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
  }
  const template = { status: problemTypes[problem.type].status, headers, beforeId, afterId }
  templates.set(problem, template)
  return template
}
