import { type Operation, readContract } from '../../src/contract/document.ts'

// biome-ignore lint/suspicious/noExplicitAny: a YAML document.
type Document = any

const contract: Document = readContract()

/** A request body in the contract, with the name of its example. */
export interface BodyExample {
  mediaType: string
  name: string | undefined
  body: unknown
}

/** All example bodies of an operation; `undefined` for a request without a body. */
export function bodyExamples(operation: Operation): BodyExample[] {
  const content = contractOf(operation).requestBody?.content
  if (!content) return [{ mediaType: 'application/json', name: undefined, body: undefined }]
  return Object.entries<Document>(content).flatMap(([mediaType, shown]) =>
    named(shown).map(({ name, value }) => ({ mediaType, name, body: value })),
  )
}

/** The path of an operation with its example and default parameters, as Swagger UI fills them in. */
export function examplePath(operation: Operation): string {
  const own: Document[] = (contractOf(operation).parameters ?? []).map(resolve)
  const shared: Document[] = (contract.paths[operation.path].parameters ?? []).map(resolve)
  const parameters = [...own, ...shared.filter(({ name }) => !own.some((one) => one.name === name))]
  const filledIn = ({ example, schema }: Document) =>
    example ?? resolve(schema).example ?? resolve(schema).default
  const query = new URLSearchParams(
    parameters
      .filter((one) => one.in === 'query' && filledIn(one) !== undefined)
      .map((one) => [one.name, String(filledIn(one))]),
  )
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) =>
    filledIn(parameters.find((one) => one.in === 'path' && one.name === name)),
  )
  return query.size > 0 ? `${path}?${query}` : path
}

/** The query that a file needs: the name of its list. */
export function fileQuery({ path, method }: Operation): string {
  const { parameters } = contract.paths[path][method.toLowerCase()]
  const isNamed = parameters?.some(({ $ref = '' }: Document) => $ref.endsWith('/FeedListName'))
  return isNamed ? '?price_list_name=Retail%202026' : ''
}

/** The JSON examples of an operation's success response. */
export function answerExamples(operation: Operation): Example[] {
  const { content = {} } = contractOf(operation).responses[operation.status]
  return named(content['application/json'] ?? {})
}

/** The file examples of an operation's success response. */
export function fileExamples(operation: Operation): { mediaType: string; text: string }[] {
  const { content = {} } = contractOf(operation).responses[operation.status]
  return operation.fileAnswers.map((mediaType) => ({ mediaType, text: content[mediaType].example }))
}

interface Example {
  name: string | undefined
  value: unknown
}

function named({ example, examples }: Document): Example[] {
  if (!examples) return [{ name: undefined, value: example }]
  return Object.entries<Document>(examples).map(([name, { value }]) => ({ name, value }))
}

function contractOf({ path, method }: Operation): Document {
  return contract.paths[path][method.toLowerCase()]
}

function resolve(node: Document): Document {
  if (!node.$ref) return node
  const [, ...keys] = node.$ref.split('/')
  const { $ref: _, ...beside } = node
  return { ...keys.reduce((place: Document, key: string) => place[key], contract), ...beside }
}
