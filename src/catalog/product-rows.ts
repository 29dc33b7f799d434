import type { Positioned } from '../contract/duplicates.ts'
import type { Schemas } from '../contract/operation.ts'
import { pointerSegment, type RowErrors, sentences } from '../contract/row-errors.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { type ColumnFault, findValueFault } from './column-value.ts'
import type { Column, Columns } from './columns.ts'
import { extensionKey, keysWith, readValues } from './row-key.ts'

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
  const { extensions, attributes, costs } = columns
  const all = [...extensions, ...attributes, ...costs]
  const keys = keysWith(fixedKeys, all)
  const shape = { keys, columns: all, required: extensions, nested: {}, findFault }
  const [attributesFrom, costsFrom] = [extensions.length, all.length - costs.length]
  const rows = await mapCooperatively(errors.sound(body), ({ row, position }) => {
    const texts = readValues({ row, position }, shape, errors)
    const { code, active = null } = row
    const own = texts.slice(0, attributesFrom) as string[]
    const product = {
      code,
      extensions: own,
      extensionKey: extensionKey(own),
      attributes: texts.slice(attributesFrom, costsFrom),
      costs: texts.slice(costsFrom).map((cost) => (cost === null ? null : Number(cost))),
      active,
    }
    if (!errors.has(position)) rejectLongKey(code + product.extensionKey, position, errors)
    return { position, row: product }
  })
  return rows.filter(({ position }) => !errors.has(position))
}

const belowZero: ColumnFault = { code: 'range', message: 'must be >= 0' }

function findFault(column: Column, value: unknown): ColumnFault | undefined {
  const isNegative = column.kind === 'cost' && Number(value) < 0
  return findValueFault(column, value) ?? (isNegative ? belowZero : undefined)
}

function rejectLongKey(key: string, position: number, errors: RowErrors): void {
  // A character has at most three bytes.
  const bytes = key.length * 3 <= keyBytesMax ? 0 : Buffer.byteLength(key)
  if (bytes <= keyBytesMax) return
  const message = `code and extensions (as a JSON array) have ${bytes} bytes in UTF-8, more than ${keyBytesMax}`
  errors.add(position, undefined, 'length', message)
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
