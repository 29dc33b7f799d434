import type { Positioned } from '../contract/duplicates.ts'
import type { Schemas } from '../contract/operation.ts'
import { pointerSegment, type RowErrors, sentences } from '../contract/row-errors.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { findTypeFault } from './column-value.ts'
import type { Columns } from './columns.ts'
import {
  countOtherKeys,
  extensionKey,
  type GivenValues,
  readGivenValues,
  readPlainTexts,
  rejectMissing,
  rejectUnknownKeys,
  takeValues,
} from './row-key.ts'

const fixedKeys = new Set(['code', 'active'])

/** The limit of a B-tree entry, 2,704 bytes, less ids and headers. */
const keyBytesMax = 2600

/** A product of a payload: canonical texts by ordinal, null for what the row leaves out. */
export interface ProductRow {
  code: string
  extensions: string[]
  /** The key of `extensions`, computed once. */
  extensionKey: string
  attributes: (string | null)[]
  costs: (number | null)[]
  active: boolean | null
}

/** Reads the valid rows of a payload; faults go to `errors`. */
export async function readProductRows(
  body: readonly Schemas['ProductInput'][],
  columns: Columns,
  errors: RowErrors,
): Promise<Positioned<ProductRow>[]> {
  const rows = await mapCooperatively(errors.sound(body), ({ row, position }) => {
    const plain = readPlainProduct(row, columns)
    if (plain) return { row: plain, position }
    const given = readGivenValues({ row, position }, fixedKeys, {}, errors)
    rejectMissing(given, columns.extensions, position, errors)
    const extensions = takeValues(given, columns.extensions, position, errors) as string[]
    const attributes = takeValues(given, columns.attributes, position, errors)
    const costs = takeCosts(given, columns, position, errors)
    rejectUnknownKeys(given, position, errors)
    const { code, active = null } = row
    const product = {
      code,
      extensions,
      extensionKey: extensionKey(extensions),
      attributes,
      costs,
      active,
    }
    if (!errors.has(position)) rejectLongKey(code + product.extensionKey, position, errors)
    return { position, row: product }
  })
  return rows.filter(({ position }) => !errors.has(position))
}

/** A fast path for most rows, which give each column at most once and validly; undefined for any other. */
function readPlainProduct(row: Schemas['ProductInput'], columns: Columns): ProductRow | undefined {
  const extensions = readPlainTexts(row, columns.extensions)
  const attributes = readPlainTexts(row, columns.attributes)
  const costs = readPlainTexts(row, columns.costs)
  if (!extensions || !attributes || !costs || extensions.includes(null)) return undefined
  const texts = [...extensions, ...attributes, ...costs].filter((text) => text !== null)
  const isNegative = costs.some((cost) => cost?.startsWith('-'))
  // Longer keys are measured in bytes.
  const isLong = row.code.length + extensions.join().length > 250
  if (texts.length !== countOtherKeys(row, fixedKeys) || isNegative || isLong) return undefined
  const { code, active = null } = row
  return {
    code,
    extensions: extensions as string[],
    extensionKey: extensionKey(extensions),
    attributes,
    costs: costs.map((cost) => (cost === null ? null : Number(cost))),
    active,
  }
}

function rejectLongKey(key: string, position: number, errors: RowErrors): void {
  const bytes = Buffer.byteLength(key)
  if (bytes <= keyBytesMax) return
  const message = `code and extensions (as a JSON array) have ${bytes} bytes in UTF-8, more than ${keyBytesMax}`
  errors.add(position, undefined, 'length', message)
}

function takeCosts(
  given: GivenValues,
  columns: Columns,
  position: number,
  errors: RowErrors,
): (number | null)[] {
  return columns.costs.map(({ name }) => {
    const entry = given.get(name)
    if (!entry) return null
    given.delete(name)
    const { value, field } = entry
    const fault = findTypeFault('number', value)
    if (fault) errors.add(position, field, fault.code, fault.message)
    else if (Number(value) < 0) errors.add(position, field, 'range', 'must be >= 0')
    else return Number(value)
    return null
  })
}

/**
 * Equal for two products exactly if their code and extensions are. The JSON array of the extensions has no line break.
 */
export function productKey(row: ProductRow): string {
  return `${row.code}\n${row.extensionKey}`
}

/** Returns a function that reports rows that give a code's attribute a different value than an earlier row. */
export function comparingAttributes({ attributes }: Columns) {
  const seen = new Map<string, { text: string; position: number }>()
  return async (rows: readonly Positioned<ProductRow>[], errors: RowErrors): Promise<void> => {
    if (attributes.length === 0) return
    await mapCooperatively(rows, ({ row, position }) => {
      for (const [index, text] of row.attributes.entries()) {
        if (text === null) continue
        const key = `${index} ${row.code}`
        const earlier = seen.get(key)
        if (!earlier) seen.set(key, { text, position })
        else if (earlier.text !== text) {
          const name = attributes[index]?.name ?? ''
          const places = `rows ${earlier.position} and ${position}`
          const message = sentences.otherValues(places, row.code, name)
          errors.add(position, pointerSegment(name), 'duplicate_row', message)
        }
      }
    })
  }
}
