import fc from 'fast-check'
import { findOperation } from '../../helpers/conformant.ts'
import { bodyFaults, parametersOf } from './contract-faults.ts'
import { chance, type Draw, oneOf } from './draw.ts'
import type { Call, Plan } from './world.ts'

type Json = null | string | number | boolean | Json[] | { [key: string]: Json }
/** A place in a body: the containing object or array, and the key. */
interface Place {
  holder: Record<string | number, Json>
  key: string | number
}

/** Values of other types. */
const strange = fc.constantFrom<Json>(
  null,
  true,
  false,
  0,
  -1,
  1.5,
  0.1234567,
  1e21,
  '',
  '5',
  '2026-02-30',
  'x'.repeat(256),
  [],
  {},
  [null],
  { a: 1 },
  ['x', 'x'],
  -0.000001,
  '2026-01-01T25:00',
  'NaN',
  '１２',
)

function placesIn(node: Json, found: Place[] = []): Place[] {
  if (typeof node !== 'object' || node === null) return found
  const holder = node as Place['holder']
  for (const key of Array.isArray(node) ? node.keys() : Object.keys(node)) {
    found.push({ holder, key })
    placesIn(holder[key] as Json, found)
  }
  return found
}

/** `String` would call a key `toString` of the object. */
const asText = (value: Json) => (typeof value === 'string' ? value : JSON.stringify(value))

/** Changes one place: missing key, unknown key, null, text instead of the value, another value. */
function change(draw: Draw, body: Json): Json {
  const copy = structuredClone(body)
  const places = placesIn(copy)
  if (places.length === 0 || chance(draw, 5)) return draw(strange)
  const { holder, key } = oneOf(draw, places)
  const kind = draw(fc.nat({ max: 9 }))
  if (kind === 0 && !Array.isArray(holder)) delete holder[key]
  else if (kind === 1 && !Array.isArray(holder)) holder['no~such/key'] = 1
  else if (kind <= 3) holder[key] = null
  else if (kind === 4) holder[key] = asText(holder[key] as Json)
  else holder[key] = draw(strange)
  return copy
}

/** The request with a body that a validator refuses; undefined when none was found. */
export function invalidBody(draw: Draw, call: Call): Plan | undefined {
  for (let attempt = 0; attempt < 20; attempt++) {
    const body = change(draw, call.body as Json)
    if (bodyFaults(call.method, call.path, body).length > 0)
      return { call: { ...call, body }, status: 400, type: 'invalid-request' }
  }
  return undefined
}

const malformed = 'malformed-body'

/** A body of malformed JSON. */
export function unreadableBody(draw: Draw, call: Call): Plan {
  const text = JSON.stringify(call.body)
  const inside = (json: string) => (text.startsWith('[') ? `[${json}]` : `{"payload":${json}}`)
  const [raw, type] = draw(
    fc.constantFrom<[string | Buffer, string]>(
      [text.slice(0, -1), malformed],
      [`${text},`, malformed],
      [inside('{"code":"a\\u0000b"}'), malformed],
      [inside('{"code":"\\ud800"}'), malformed],
      [inside('{"code":"a","code":"b"}'), malformed],
      [inside('{"__proto__":{}}'), malformed],
      [inside('['.repeat(40) + ']'.repeat(40)), malformed],
      [Buffer.from([0x22, 0xc3, 0x28, 0x22]), malformed],
      ['', malformed],
      ['NaN', malformed],
      [inside('1e400'), 'invalid-request'],
      [inside('9007199254740993'), 'invalid-request'],
      ['null', 'invalid-request'],
    ),
  )
  return { call: { ...call, raw }, status: 400, type }
}

/** A request with headers that must be refused. */
export function refusedHeaders(draw: Draw, call: Call): Plan {
  const hasBody = call.body !== undefined
  const cases: [Record<string, string>, number, string][] = [
    [{ authorization: 'jwt a.b.c' }, 401, 'unauthorized'],
    [{ authorization: '' }, 401, 'unauthorized'],
    ...(hasBody
      ? ([[{ 'content-type': 'text/xml' }, 415, 'unsupported-media-type']] as typeof cases)
      : []),
    ...(hasBody
      ? ([[{ 'content-encoding': 'br' }, 415, 'unsupported-media-type']] as typeof cases)
      : []),
  ]
  const [headers, status, type] = oneOf(draw, cases)
  return { call: { ...call, headers: { ...call.headers, ...headers } }, status, type }
}

function faultyTexts({ type, format, enum: values, minLength }: Record<string, unknown>): string[] {
  if (type === 'integer') return ['x', '-1', '1.5', '', '9007199254740993', '1e400']
  if (format === 'date') return ['2026-02-30', 'x', '20260101', '2026-1-1']
  if (values) return ['no such', '']
  return minLength === 1 ? ['', 'x'.repeat(256)] : []
}

function withParameter(call: Call, path: string, name: string, value: string): string {
  const template = findOperation(call.method, call.path)?.path.split('/') ?? []
  const parts = path.split('/').map((part, at) => (template[at] === `{${name}}` ? value : part))
  return parts.join('/')
}

/** The request with a path or query parameter that the contract refuses; undefined without parameters. */
export function invalidParameter(draw: Draw, call: Call): Plan | undefined {
  const parameters = parametersOf(call.method, call.path).filter(
    (one) => one.in !== 'header' && faultyTexts(one.schema).length > 0,
  )
  if (parameters.length === 0) return undefined
  const { name, in: place, schema } = oneOf(draw, parameters)
  const value = encodeURIComponent(
    oneOf(
      draw,
      faultyTexts(schema).filter((text) => place === 'query' || text !== ''),
    ),
  )
  const [base = '', query = ''] = call.path.split('?')
  const others = query.split('&').filter((given) => given !== '' && !given.startsWith(`${name}=`))
  const path =
    place === 'query'
      ? `${base}?${[`${name}=${value}`, ...others].join('&')}`
      : withParameter(call, base, name, value)
  const pointer = `/${place}/${name}`
  return { call: { ...call, path }, status: 400, type: 'invalid-request', pointer }
}
