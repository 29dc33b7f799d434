import { type RawBuilder, sql } from 'kysely'
import type { Column, Columns } from '../catalog/columns.ts'
import { readCopyLine } from '../database/copy.ts'
import type { Extras, MatchingRow } from './matching-rows.ts'

/** The fields of a matching row as COPY writes them; of arrays, each item is a field of its own. */
export function copiedFields(columns: Columns, extras: Extras): RawBuilder<unknown> {
  return sql.join([
    ...['at', 'id', 'product_id', 'code', 'price'].map((name) => sql.ref(name)),
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
  return (line) => {
    const fields = readCopyLine(line)
    const take = (count: number) => fields.splice(0, count)
    const [at, id, product, code, price] = take(5)
    return {
      ...{ at: Number(at), id: Number(id), product_id: Number(product), code: code as string },
      price: Number(price),
      extensions: take(extensions.length) as string[],
      ...(extras.costs && { costs: take(costs.length).map(numberOrNull) }),
      ...(extras.attributes && { attributes: take(attributes.length) }),
      ...(extras.dynamicAttributes && { dynamic_attributes: JSON.parse(fields[0] ?? 'null') }),
    }
  }
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text)
}
