import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OperationId, Scope } from './operation.ts'
import { Problem } from './problem.ts'

/** One operation of the contract, as the server needs it. */
export interface Operation {
  id: OperationId
  method: string
  path: string
  /** The first 2xx status. */
  status: number
  /** The scope that the token needs; `any` if every token will do, undefined if no account's token is needed. */
  scope: Scope | 'any' | undefined
  /** Whether it leaves the account's data unchanged: a GET, or a POST with the scope "read". */
  isRead: boolean
  /** The connection pool for its transactions. */
  pool: 'reads' | 'lists' | 'writes'
  hasBody: boolean
  /** The names of its query parameters; undefined if it ignores the query. */
  queryNames: string[] | undefined
  /** Media types that the body may have. */
  mediaTypes: string[]
  /** Media types of its responses, the usual one first; undefined if it never returns 406. */
  answers: string[] | undefined
  /** The media types of files among its successful responses. */
  fileAnswers: string[]
}

/** Media types of files, which have any number of rows. */
export const fileTypes = ['text/csv', 'application/x-ndjson']

/** Whether a Content-Type is that of a file. */
export function isFile(contentType = ''): boolean {
  return fileTypes.includes(contentType.split(';')[0]?.trim().toLowerCase() ?? '')
}

/** Returns the error for a body of a media type that the operation does not accept. */
export function wrongMediaType({ mediaTypes }: Operation): Problem {
  const types = mediaTypes.join(' or ')
  const detail = `Send the body as ${types} in UTF-8, plain or with Content-Encoding: gzip.`
  return new Problem('unsupported-media-type', detail)
}

/** The part of a JSON Schema that describes rows, with references resolved. */
export interface RowSchema {
  type?: string | string[]
  minLength?: number
  format?: string
  pattern?: string
  enum?: unknown[]
  required?: string[]
  properties?: Record<string, RowSchema>
  additionalProperties?: RowSchema | boolean
}

// biome-ignore lint/suspicious/noExplicitAny: a YAML document, its shape checked by the contract linter.
type Document = any

const methods = ['get', 'post', 'put', 'patch', 'delete']

/** The contract byte for byte. */
const contractYaml = readFileSync(join(import.meta.dirname, '../../openapi.yaml'))

/** The contract as JSON: parsing the YAML took a fifth of the startup time. */
const contractJson = readFileSync(join(import.meta.dirname, '../../generated/openapi.json'))

/** Returns the contract, with the path prefix, if any, in the URL of its server. */
export function contractBelow(prefix: string): { yaml: Buffer | string; json: Buffer | string } {
  if (prefix === '') return { yaml: contractYaml, json: contractJson }
  return {
    yaml: contractYaml.toString('utf8').replace('\n  - url: /\n', `\n  - url: ${prefix}\n`),
    json: contractJson.toString('utf8').replace('[{"url":"/"', `[{"url":"${prefix}"`),
  }
}

/** Returns the contract as data: a copy for each caller, because plugins resolve references in place. */
export function readContract(): Document {
  return JSON.parse(contractJson.toString('utf8'))
}

const contract = readContract()

/** All operations, in the order of the contract. */
export const operations: Operation[] = Object.entries<Document>(contract.paths).flatMap(
  ([path, item]) =>
    methods.filter((method) => item[method]).map((method) => readOperation(path, method, item)),
)

/** The operation with an id of the contract. Throws Error if there is none. */
export function findOperation(id: string | null): Operation {
  const operation = operations.find((candidate) => candidate.id === id)
  if (!operation) throw new Error(`the contract has no operation ${id}`)
  return operation
}

function readOperation(path: string, method: string, item: Document): Operation {
  const operation = item[method]
  const queryNames = readQueryNames(item, operation)
  const status = Object.keys(operation.responses).find((code) => code.startsWith('2'))
  // Open, or with a token that is not a JWT.
  const isOpen = operation.security && !operation.security.some(({ jwt }: Document) => jwt)
  if (!isOpen && !operation['x-scope']) throw new Error(`${operation.operationId} has no x-scope`)
  const scope: Operation['scope'] = isOpen ? undefined : operation['x-scope']
  const isRead = scope !== undefined && (method === 'get' || scope === 'read')
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    status: Number(status),
    scope,
    isRead,
    pool: readPool(isRead, queryNames),
    hasBody: operation.requestBody !== undefined,
    queryNames,
    mediaTypes: Object.keys(operation.requestBody?.content ?? {}),
    answers: readAnswers(operation, status),
    fileAnswers: Object.keys(operation.responses[status ?? '']?.content ?? {}).filter((type) =>
      fileTypes.includes(type),
    ),
  }
}

/** Paged reads count all rows, which may take long, so they have a pool of their own. */
function readPool(isRead: boolean, queryNames: string[] = []): Operation['pool'] {
  if (!isRead) return 'writes'
  return queryNames.includes('offset') ? 'lists' : 'reads'
}

/** Service operations ignore the query, because probes and scrapers add parameters. */
function readQueryNames(item: Document, operation: Document): string[] | undefined {
  if (operation.tags.includes('Service')) return undefined
  return [...(item.parameters ?? []), ...(operation.parameters ?? [])]
    .map(resolve)
    .filter(({ in: place }) => place === 'query')
    .map(({ name }) => name)
}

function readAnswers(operation: Document, status: string | undefined): string[] | undefined {
  if (!operation.responses['406']) return undefined
  // A response without content has no media type; JSON is what clients accept by habit.
  const { content = { 'application/json': {} } } = operation.responses[status ?? ''] ?? {}
  const ofSuccess = Object.keys(content)
  const ofRefusal = Object.keys(resolve(operation.responses['400'] ?? {}).content ?? {})
  return [...ofSuccess, ...ofRefusal]
}

/** The schema of an operation's rows: the items of its body or of the body's `payload`. */
export function readRowSchema(operation: Operation): RowSchema {
  const body = bodySchema(operation)
  return resolveAll(body.items ?? body.properties.payload.items)
}

/** Whether the rows are the `payload` of the body. */
export function hasPayload(operation: Operation): boolean {
  return bodySchema(operation).items === undefined
}

function bodySchema({ path, method }: Operation): Document {
  const { content } = contract.paths[path][method.toLowerCase()].requestBody
  return resolve(content['application/json'].schema)
}

function resolveAll(schema: Document): RowSchema {
  const { $ref: _, ...whole } = { ...resolve(schema), ...schema }
  const { properties, additionalProperties: others } = whole
  return {
    ...whole,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, resolveAll(one)]),
      ),
    }),
    ...(typeof others === 'object' && { additionalProperties: resolveAll(others) }),
  }
}

function resolve(node: Document): Document {
  if (!node.$ref) return node
  const keys: string[] = node.$ref.slice(2).split('/')
  return resolve(keys.reduce((place: Document, key) => place[key], contract))
}

/** Whether the operation takes an Idempotency-Key. */
export function isWritingPost({ method, scope, isRead }: Operation): boolean {
  return method === 'POST' && scope !== undefined && !isRead
}

/** Converts a path of the contract to the router's form: `{id}` becomes `:id`. */
export function routeUrl(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
