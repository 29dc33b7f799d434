import type { Test } from 'tap'
import { type Operation, operations, readContract } from '../../src/contract/document.ts'
import { expectConformant, type TestResponse } from './conformant.ts'
import type { TestService } from './service.ts'

const contract = readContract()

export const protectedOperations = operations.filter(({ scope }) => scope !== undefined)

export const bodyOperations = operations.filter(({ hasBody }) => hasBody)

/** The path with an id that does not exist. */
export function concretePath(path: string): string {
  return path.replace(/\{\w+\}/g, '999999999')
}

/** The example body of an operation. */
// biome-ignore lint/suspicious/noExplicitAny: the body of any operation.
export function exampleBody({ path, method }: Operation): any {
  const content = contract.paths[path][method.toLowerCase()].requestBody?.content
  const { example, examples } = content?.['application/json'] ?? {}
  return example ?? Object.values<{ value: unknown }>(examples ?? {})[0]?.value
}

export interface PlainRequest {
  method: string
  path: string
  headers?: Record<string, string>
  payload?: string | Buffer
}

/** Sends a request with no token of its own; the response must match the contract. */
export async function send(
  t: Test,
  { app }: Pick<TestService, 'app'>,
  { method, path, headers = {}, payload }: PlainRequest,
): Promise<TestResponse> {
  const response = await app.inject({
    method: method as 'GET',
    url: path,
    headers,
    ...(payload !== undefined && { payload }),
  })
  const isJson = /[/+]json/.test(String(response.headers['content-type'])) && response.body !== ''
  const answer = {
    status: response.statusCode,
    headers: response.headers,
    body: isJson ? response.json() : response.body,
  }
  expectConformant(t, method, path, answer)
  return answer
}

/** Expects this problem with the media type of problems. */
export function expectProblem(
  t: Test,
  answer: TestResponse,
  status: number,
  type: string,
  message: string,
): void {
  t.equal(answer.status, status, `${message}: status`)
  t.match(
    answer.headers['content-type'],
    /^application\/problem\+json/,
    `${message}: media type of problems`,
  )
  if (answer.body !== '') t.equal(answer.body.type, type, `${message}: type`)
}
