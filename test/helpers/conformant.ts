import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Test } from 'tap'
import { type Operation, operations, readContract } from '../../src/contract/document.ts'
import { pointerSegment } from '../../src/contract/row-errors.ts'
import { isDate, isDecimal, isMoment, isMoney, isTimestamp } from '../../src/lib/formats.ts'

const contract = readContract()
const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true })
addFormats.default(ajv, ['date-time'])
ajv.addFormat('date', isDate)
ajv.addFormat('timestamp', isTimestamp)
ajv.addFormat('moment', isMoment)
ajv.addFormat('money', { type: 'number', validate: isMoney })
ajv.addFormat('decimal', isDecimal)
ajv.addFormat('money-text', isDecimal)
ajv.addSchema(contract, 'contract')

export interface TestResponse {
  status: number
  headers: Record<string, string | string[] | number | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for.
  body: any
}

/** The validator of a schema in the contract, by its JSON Pointer in URI form. */
export function contractSchema(pointer: string): ValidateFunction {
  return ajv.getSchema(`contract#${pointer}`) ?? ajv.compile({ $ref: `contract#${pointer}` })
}

/** Fails the test unless status, media type and body of a response match the contract. */
export function expectConformant(
  t: Test,
  method: string,
  path: string,
  response: TestResponse,
): void {
  const operation = findOperation(method, path)
  if (!operation) return
  const { status } = response
  const documented = contract.paths[operation.path][method.toLowerCase()].responses[status]
  if (!documented)
    return void t.fail(`${method} ${path} answered ${status}, which the contract does not document`)
  const reference: string | undefined = documented.$ref
  const place = reference
    ? contract.components.responses[reference.split('/').at(-1) ?? '']
    : documented
  const documentedTypes = Object.keys(place.content ?? {})
  if (documentedTypes.length === 0) return
  const type = String(response.headers['content-type'] ?? '')
  const mediaType = documentedTypes.find((one) => type.startsWith(one))
  if (!mediaType)
    return void t.fail(`${method} ${path} answered ${type} instead of ${documentedTypes}`)
  const base =
    reference?.slice(1) ??
    ['/paths', operation.path, method.toLowerCase(), 'responses', status].map(segment).join('/')
  const validate = ajv.getSchema(`contract#${base}/content/${pointerSegment(mediaType)}/schema`)
  if (validate && !validate(response.body)) {
    t.fail(`${method} ${path} answered a body that the contract does not allow`, {
      errors: validate.errors,
      body: response.body,
    })
  }
}

function segment(part: string | number, index: number): string {
  return index === 0 ? String(part) : encodeURIComponent(pointerSegment(String(part)))
}

/** The operation of a method and a path. */
export function findOperation(method: string, path: string): Operation | undefined {
  const [pathname = ''] = path.split('?')
  const candidates = operations.filter(
    (operation) => operation.method === method && matches(operation.path, pathname),
  )
  return candidates.find((operation) => !operation.path.includes('{')) ?? candidates[0]
}

function matches(template: string, path: string): boolean {
  const trim = (text: string) => text.replace(/\/$/, '')
  const pattern = trim(template).replace(/\{\w+\}/g, '[^/]+')
  return new RegExp(`^${pattern}$`).test(trim(path))
}
