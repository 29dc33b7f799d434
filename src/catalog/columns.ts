import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'

export type ColumnType = Schemas['ColumnType']
export type ColumnValue = string | number | boolean

/** A column that the account declared. Rows keep its values as canonical texts at `ordinal` (from 1) of its kind. */
export interface Column {
  name: string
  kind: 'attribute' | 'extension' | 'cost'
  type: ColumnType
  allowed_values: ColumnValue[] | null
  ordinal: number
  letter: string
}

/** The account's columns in the order of their letters, by kind. */
export interface Columns {
  all: Column[]
  attributes: Column[]
  extensions: Column[]
  costs: Column[]
}

/** Reads the account's columns. */
export async function findColumns(trx: Trx, account: number): Promise<Columns> {
  const rows = await trx
    .selectFrom('catalog_columns')
    .select(['name', 'kind', 'type', 'allowed_values', 'ordinal', 'letter'])
    .where('account_id', '=', account)
    .orderBy('position')
    .execute()
  return groupColumns(rows as Column[])
}

/** Reads the account's columns; they do not change until the transaction ends. Others may rely on them beside it. */
export async function keepColumns(trx: Trx, account: number): Promise<Columns> {
  await trx.selectFrom('accounts').select('id').where('id', '=', account).forKeyShare().execute()
  return findColumns(trx, account)
}

/** Splits columns by kind. */
export function groupColumns(all: Column[]): Columns {
  const ofKind = (kind: Column['kind']) => all.filter((column) => column.kind === kind)
  return {
    all,
    attributes: ofKind('attribute'),
    extensions: ofKind('extension'),
    costs: ofKind('cost'),
  }
}

/** The letter of the column at `position`, as in a spreadsheet: 0 is A, 25 is Z, 26 is AA. */
export function columnLetter(position: number): string {
  const last = String.fromCharCode(65 + (position % 26))
  return position < 26 ? last : columnLetter(Math.floor(position / 26) - 1) + last
}
