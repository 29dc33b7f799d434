import { type Schemas, transaction } from '../contract/operation.ts'
import { type Column, type Columns, findColumns } from './columns.ts'

/** The account's columns with their letters; empty lists if none are declared. */
export const readCatalogSchema = transaction<'readCatalogSchema'>(async (trx, { account }) =>
  schemaOf(await findColumns(trx, account)),
)

/** Columns as the contract shows them. */
export function schemaOf(columns: Columns): Schemas['CatalogSchema'] {
  return {
    attributes: columns.attributes.map(typedColumn),
    extensions: columns.extensions.map(typedColumn),
    costs: columns.costs.map(({ name, letter }) => ({ name, letter })),
  }
}

function typedColumn({ name, type, allowed_values, letter }: Column): Schemas['Column'] {
  return { name, type, ...(allowed_values && { values: allowed_values.list }), letter }
}
