import { type RawBuilder, sql } from 'kysely'
import type { Column, Columns } from '../catalog/columns.ts'
import { readCopyLine } from '../database/copy.ts'
import type { Extras, MatchingRow } from './matching-rows.ts'

/** The fields that all lines have, and where; the extensions come after the code. */
export const copiedPlaces = { at: 0, product_id: 1, id: 2, price: 3, code: 4 }

/** The fields of a matching row as COPY writes them; of arrays, each item is a field of its own. */
export function copiedFields(columns: Columns, extras: Extras): RawBuilder<unknown> {
  return sql.join([
    ...Object.keys(copiedPlaces).map((name) => sql.ref(name)),
    ...items('extensions', columns.extensions),
    ...(extras.costs ? items('costs', columns.costs) : []),
    ...(extras.attributes ? items('attributes', columns.attributes) : []),
    ...(extras.dynamicAttributes ? [sql.ref('dynamic_attributes')] : []),
  ])
}

function items(name: string, columns: Column[]): RawBuilder<unknown>[] {
  return columns.map(({ ordinal }) => sql`${sql.ref(name)}[${ordinal}::integer]`)
}

/** Reads a line of these fields. */
export function matchReader(columns: Columns, extras: Extras): (line: string) => MatchingRow {
  const { extensions, costs, attributes } = columns
  const { at, product_id, id, price, code } = copiedPlaces
  const costsAt = code + 1 + extensions.length
  const attributesAt = costsAt + (extras.costs ? costs.length : 0)
  const dynamicAt = attributesAt + (extras.attributes ? attributes.length : 0)
  return (line) => {
    const fields = readCopyLine(line)
    const match: MatchingRow = {
      at: Number(fields[at]),
      product_id: Number(fields[product_id]),
      id: Number(fields[id]),
      price: Number(fields[price]),
      code: fields[code] as string,
      extensions: fields.slice(code + 1, costsAt) as string[],
    }
    if (extras.costs) match.costs = fields.slice(costsAt, attributesAt).map(numberOrNull)
    if (extras.attributes) match.attributes = fields.slice(attributesAt, dynamicAt)
    if (extras.dynamicAttributes) match.dynamic_attributes = JSON.parse(fields[dynamicAt] ?? 'null')
    return match
  }
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text)
}
