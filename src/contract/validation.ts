import type {
  ErrorObject,
  FuncKeywordDefinition,
  SchemaValidateFunction,
  ValidateFunction,
} from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isDate, isDecimal, isInstant, isMoment, isMoney, isTimestamp } from '../lib/formats.ts'
import { type Operation, readContract } from './document.ts'
import { type FindFaults, inSlices } from './incremental-validation.ts'
import type { RequestError } from './problem.ts'
import { type ErrorCode, pointerSegment, sentences } from './row-errors.ts'

/** `uniqueItems` for scalars in linear time. Ajv's own keeps items as keys of an object, where `__proto__` is lost. */
const uniqueItems: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  errors: true,
  compile: (mustDiffer: boolean) => (mustDiffer ? rejectRepeated : () => true),
}

const rejectRepeated: SchemaValidateFunction = (items: unknown[]) => {
  const places = new Map<unknown, number>()
  for (const [i, item] of items.entries()) {
    const j = places.get(item)
    if (j !== undefined) {
      const message = `must NOT have duplicate items (items ## ${i} and ${j} are identical)`
      rejectRepeated.errors = [{ keyword: 'uniqueItems', params: { i, j }, message }]
      return false
    }
    places.set(item, i)
  }
  return true
}

/** Nothing is coerced. */
const ajv = createAjv().addSchema(readContract(), 'contract')

const bodies = new Map<string, FindFaults>()

/** Returns the check of an operation's body, compiled on first use. */
export function bodyCheck(operation: Operation): FindFaults {
  const check = bodies.get(operation.id) ?? compileBody(operation)
  bodies.set(operation.id, check)
  return check
}

/**
 * Compiles the contract's schema, because the route's copy has resolved references and so has lost the defaults beside
 * them. All media types of a body have the same schema.
 */
function compileBody({ path, method, mediaTypes: [mediaType = ''] }: Operation): FindFaults {
  const pointer = [
    'paths',
    path,
    method.toLowerCase(),
    'requestBody',
    'content',
    mediaType,
    'schema',
  ]
  const segments = pointer.map((key) => encodeURIComponent(pointerSegment(key)))
  return inSlices(ajv.compile({ $ref: `contract#/${segments.join('/')}` }))
}

/** Returns the check of a value against a schema of the contract, compiled on first use. */
export function compileSchema(name: string): (value: unknown) => RequestError[] {
  const validate = ajv.getSchema(`contract#/components/schemas/${name}`)
  if (!validate) throw new Error(`no such schema: ${name}`)
  return (value) => (validate(value) ? [] : (validate.errors ?? []).map(bodyError))
}

/** Converts integer parameters in place, then validates all of them. */
export type CheckParameters = (
  parameters: Record<string, unknown>,
) => true | { error: ErrorObject[] }

/** Returns the check of path, query or header parameters, compiled on first use; header names arrive in lower case. */
export function parameterCheck(schema: ParameterSchema, httpPart?: string): CheckParameters {
  const properties = Object.entries(schema.properties ?? {}).map(
    ([name, value]) => [httpPart === 'headers' ? name.toLowerCase() : name, value] as const,
  )
  const compile = () => ajv.compile({ ...schema, properties: Object.fromEntries(properties) })
  let validate: ValidateFunction | undefined
  const integers = properties.filter(([, { type }]) => type === 'integer').map(([name]) => name)
  return (parameters) => {
    for (const name of integers) readInteger(parameters, name)
    validate ??= compile()
    if (validate(parameters)) return true
    const isTwice = ({ instancePath }: ErrorObject) =>
      Array.isArray(parameters[instancePath.slice(1)])
    const faults = validate.errors ?? []
    return {
      error: faults.map((fault) =>
        isTwice(fault) ? { ...fault, message: 'is given more than once' } : fault,
      ),
    }
  }
}

export interface ParameterSchema {
  properties?: Record<string, { type?: unknown }>
}

const digits = /^-?\d+$/

/** Only digits are an integer; `0x10`, `1e3` and a blank stay text. */
function readInteger(parameters: Record<string, unknown>, name: string): void {
  const text = parameters[name]
  if (typeof text === 'string' && digits.test(text)) parameters[name] = Number(text)
}

function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    coerceTypes: false,
    allErrors: true,
    removeAdditional: false,
    useDefaults: true,
    strict: false,
    // The contract is linted; checking its schemas here took a tenth of the startup time.
    validateSchema: false,
    // JSON Schema counts code points, as do the contract and Postgres.
    unicodeRegExp: true,
  })
  ajv.removeKeyword('uniqueItems').addKeyword(uniqueItems)
  ajv.addFormat('date', isDate)
  ajv.addFormat('timestamp', isTimestamp)
  ajv.addFormat('instant', isInstant)
  ajv.addFormat('moment', isMoment)
  ajv.addFormat('money', { type: 'number', validate: isMoney })
  ajv.addFormat('decimal', isDecimal)
  ajv.addFormat('money-text', (text: string) => isDecimal(text) && !/^-.*[1-9]/.test(text))
  return ajv
}

const codes: Record<string, ErrorCode> = {
  required: 'required',
  additionalProperties: 'unknown_key',
  type: 'type',
  format: 'format',
  pattern: 'format',
  minimum: 'range',
  maximum: 'range',
  minLength: 'length',
  maxLength: 'length',
  minItems: 'length',
  maxItems: 'length',
  minProperties: 'length',
  uniqueItems: 'not_allowed',
  enum: 'not_allowed',
  const: 'not_allowed',
}

const formatMessages: Record<string, string> = {
  date: sentences.calendarDay,
  timestamp: 'must be a day (yyyy-mm-dd) or an ISO 8601 day and time',
  instant: 'must be a day and time in ISO 8601',
  moment: 'must be a revision, or a day and time in ISO 8601',
  money: 'must have at most 15 significant digits and 6 decimals',
  decimal: 'must be a decimal number in a string, at most 15 significant digits and 6 decimals',
  'money-text':
    'must be a decimal number of at least 0 in a string, at most 15 significant digits and 6 decimals',
}

/** Converts an Ajv error of a body to an error of the contract. */
export function bodyError(error: ErrorObject): RequestError {
  const { missingProperty, additionalProperty } = error.params
  const key = missingProperty ?? additionalProperty ?? error.propertyName
  const pointer =
    key === undefined ? error.instancePath : `${error.instancePath}/${pointerSegment(key)}`
  return { pointer, code: codes[error.keyword] ?? 'not_allowed', message: message(error) }
}

/** Converts an Ajv error of a path, query or header parameter; its pointer begins with the place. */
export function parameterError(
  error: ErrorObject,
  place: 'path' | 'query' | 'header',
): RequestError {
  const { pointer, ...rest } = bodyError(error)
  return { pointer: `/${place}${pointer}`, ...rest }
}

function message(error: ErrorObject): string {
  switch (error.keyword) {
    case 'required':
      return sentences.required
    case 'additionalProperties':
      return sentences.unknownKey
    case 'format':
      return formatMessages[error.params.format] ?? `must be a ${error.params.format}`
    case 'enum':
      return `must be one of ${error.params.allowedValues.join(', ')}`
    default:
      return error.message ?? 'is not allowed'
  }
}
