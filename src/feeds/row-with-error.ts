import { csvLine, escapeFormula } from './csv-cell.ts'
import { errorColumn, type RowSource } from './rows.ts'

/** A row as its file had it, with what is wrong with it. */
export function rowWithError(source: RowSource, error: string, header: readonly string[]): string {
  if (typeof source === 'string') return jsonLine(source, error)
  const width = withoutError(header, header).length
  return csvLine([...padded(withoutError(source, header), width), escapeFormula(error)])
}

/** What is wrong with a row, for people. */
export function wording({ field, message }: { field?: string; message: string }): string {
  return field ? `${field}: ${message}` : message
}

/** The error of a row that is too short stands in its column all the same. */
function padded(fields: string[], width: number): string[] {
  return fields.length < width ? [...fields, ...Array(width - fields.length).fill('')] : fields
}

/** The fields without the error of before. */
export function withoutError(fields: readonly string[], header: readonly string[]): string[] {
  const place = errorPlace(fields, header)
  return fields.filter((_, index) => index !== place)
}

/** Where the error of before is, or -1. A file that came back has it last, also in a row with too many fields. */
export function errorPlace(fields: readonly string[], header: readonly string[]): number {
  const column = header.indexOf(errorColumn)
  const isLast = column >= 0 && column === header.length - 1
  return isLast ? Math.max(column, fields.length - 1) : column
}

/** The row with its error; what is no JSON object cannot carry one and stands beside it as a text. */
function jsonLine(source: string, error: string): string {
  const row = asObject(source)
  if (!row) return `${JSON.stringify({ row: source, error })}\n`
  if (error === '' && row.error === undefined) return `${source}\n`
  // They stay as they were sent: a key may be there twice, a number may have more digits than can be kept.
  const members = membersOf(source).filter((member) => keyOf(member) !== errorColumn)
  if (error !== '') members.push(`"error":${JSON.stringify(error)}`)
  return `{${members.join(',')}}\n`
}

function asObject(source: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(source)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

const string = /"(?:[^"\\]+|\\.)*"/
const token = new RegExp(`${string.source}|[{}[\\],]`, 'g')
const key = new RegExp(`^\\s*(${string.source})`)

/** The members of a JSON object, each as it is written. */
function membersOf(object: string): string[] {
  const members: string[] = []
  let depth = 0
  let start = 0
  for (const { 0: text, index } of object.matchAll(token)) {
    if (text === '{' || text === '[') depth++
    else if (text === '}' || text === ']') depth--
    const isBegun = text === '{' && depth === 1
    const isEnded = depth === 0 || (text === ',' && depth === 1)
    if (isEnded) members.push(object.slice(start, index))
    if (isBegun || isEnded) start = index + 1
  }
  return members.filter((member) => member.trim() !== '')
}

/** The key of a member. */
function keyOf(member: string): string {
  return JSON.parse(key.exec(member)?.[1] ?? '""')
}
