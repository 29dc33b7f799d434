import { type RawBuilder, sql } from 'kysely'
import type { Column, Columns } from '../catalog/columns.ts'
import { readCopyLine } from '../database/copy.ts'
import type { Extras, MatchingRow } from './matching-rows.ts'

/** Where the fields of a line stand that all lines have: the extensions come after the code. */
export const copiedPlaces = { at: 0, product_id: 1, id: 2, price: 3, code: 4 }

/** The fields of a matching row as COPY writes them; of arrays, each item is a field of its own. */
export function copiedFields(columns: Columns, extras: Extras): RawBuilder<unknown> {
  return sql.join([
    ...['at', 'product_id', 'id', 'price', 'code'].map((name) => sql.ref(name)),
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
  const costsAt = 5 + extensions.length
  const attributesAt = costsAt + (extras.costs ? costs.length : 0)
  const dynamicAt = attributesAt + (extras.attributes ? attributes.length : 0)
  return (line) => {
    const fields = readCopyLine(line)
    const match: MatchingRow = {
      at: Number(fields[0]),
      product_id: Number(fields[1]),
      id: Number(fields[2]),
      price: Number(fields[3]),
      code: fields[4] as string,
      extensions: fields.slice(5, costsAt) as string[],
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
