import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { OperationId } from '../contract/operation.ts'

/** One operation of the contract, as the server needs it. */
export interface Operation {
  id: OperationId
  method: string
  path: string
  /** The first 2xx status. */
  status: number
  /** What the token must allow; undefined: open without a token (of an account). */
  scope: 'read' | 'write' | undefined
  hasBody: boolean
  /** Media types that the body may have. */
  mediaTypes: string[]
  /** The media type of its answer, where the contract lets it be refused (406). */
  mediaType: string | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: a YAML document, its shape checked by the contract linter.
type Document = any

const methods = ['get', 'post', 'put', 'patch', 'delete']

/** The contract byte for byte. */
export const contractYaml = readFileSync(join(import.meta.dirname, '../../openapi.yaml'))

const contract: Document = parse(contractYaml.toString('utf8'))

/** The contract as data. Each reader gets its own: plugins resolve references in place. */
export function readContract(): Document {
  return structuredClone(contract)
}

/** All operations of the contract in its order. */
export const operations: Operation[] = Object.entries<Document>(contract.paths).flatMap(
  ([path, item]) =>
    methods
      .filter((method) => item[method])
      .map((method) => readOperation(path, method, item[method])),
)

function readOperation(path: string, method: string, operation: Document): Operation {
  const status = Object.keys(operation.responses).find((code) => code.startsWith('2'))
  // Open, or with a token of its own that is no JWT.
  const isOpen = operation.security && !operation.security.some(({ jwt }: Document) => jwt)
  if (!isOpen && !operation['x-scope']) throw new Error(`${operation.operationId} has no x-scope`)
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    status: Number(status),
    scope: isOpen ? undefined : operation['x-scope'],
    hasBody: operation.requestBody !== undefined,
    mediaTypes: Object.keys(operation.requestBody?.content ?? {}),
    mediaType: readMediaType(operation, status),
  }
}

function readMediaType(operation: Document, status: string | undefined): string | undefined {
  if (!operation.responses['406']) return undefined
  return Object.keys(operation.responses[status ?? '']?.content ?? {})[0] ?? 'application/json'
}

/** Whether the operation takes an Idempotency-Key. */
export function isWritingPost({ method, scope }: Operation): boolean {
  return method === 'POST' && scope === 'write'
}

/** A path of the contract as the router writes it: `{id}` is `:id`. */
export function routeUrl(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
