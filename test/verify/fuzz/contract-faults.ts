import { readContract } from '../../../src/contract/document.ts'
import { contractSchema, findOperation } from '../../helpers/conformant.ts'
import { segment } from './world.ts'

const contract = readContract()

// biome-ignore lint/suspicious/noExplicitAny: a part of a YAML document.
export type Schema = any

/** The schema of an operation's request body in the contract; undefined if it takes none. */
function bodyPointer(method: string, path: string): string | undefined {
  const operation = findOperation(method, path)
  if (!operation?.hasBody) return undefined
  const parts = [
    'paths',
    operation.path,
    method.toLowerCase(),
    'requestBody',
    'content',
    'application/json',
    'schema',
  ]
  return `/${parts.map((part) => encodeURIComponent(segment(part))).join('/')}`
}

/** The pointers at which a body breaks its schema; none if it is valid. */
export function bodyFaults(method: string, path: string, body: unknown): string[] {
  const pointer = bodyPointer(method, path)
  if (pointer === undefined) return []
  const validate = contractSchema(pointer)
  if (validate(body)) return []
  const faults = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'propertyNames')
  return faults.map(({ instancePath, params, propertyName }) => {
    const key = params.missingProperty ?? params.additionalProperty ?? propertyName
    return key === undefined ? instancePath : `${instancePath}/${segment(key)}`
  })
}

/** The schema with its `$ref` resolved; keywords beside it count too. */
export function resolved(schema: Schema): Schema {
  if (!schema?.$ref) return schema
  const { $ref, ...beside } = schema
  const target = $ref
    .slice(2)
    .split('/')
    .reduce((node: Schema, key: string) => node[key], contract)
  return { ...resolved(target), ...beside }
}

/** The schema of an operation's body. */
export function bodySchema(method: string, path: string): Schema {
  const operation = findOperation(method, path)
  return contract.paths[operation?.path ?? ''][method.toLowerCase()].requestBody?.content[
    'application/json'
  ].schema
}

/** The parameters of an operation. */
export function parametersOf(
  method: string,
  path: string,
): { name: string; in: string; schema: Schema }[] {
  const item = contract.paths[findOperation(method, path)?.path ?? ''] ?? {}
  const own = [...(item.parameters ?? []), ...(item[method.toLowerCase()]?.parameters ?? [])]
  return own.map((parameter: Schema) => {
    const { name, in: place, schema } = resolved(parameter)
    return { name, in: place, schema: resolved(schema) }
  })
}
