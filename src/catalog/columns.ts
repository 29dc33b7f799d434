import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'

export type ColumnType = Schemas['ColumnType']
export type ColumnValue = string | number | boolean

/** The values that a column takes, in the order of their declaration; in JSON they are a list. */
export class AllowedValues {
  readonly list: ColumnValue[]
  /** What is wrong with any other value: one text for all rows, it may have 5,000 characters. */
  readonly message: string
  #set: ReadonlySet<ColumnValue> | undefined

  constructor(list: ColumnValue[]) {
    this.list = list
    this.message = `must be one of ${list.slice(0, 20).join(', ')}`
  }

  /** To find one among 10,000 in the list takes 88 µs; who checks no value does not wait for the set. */
  has(value: unknown): boolean {
    this.#set ??= new Set(this.list)
    return this.#set.has(value as ColumnValue)
  }

  toJSON(): ColumnValue[] {
    return this.list
  }
}

/** Allowed values as a declaration or the database has them; null: any value is allowed. */
export function readAllowedValues(list: ColumnValue[] | null = null): AllowedValues | null {
  return list && new AllowedValues(list)
}

/** A column that the account declared. Rows keep its values as canonical texts at `ordinal` (from 1) of its kind. */
export interface Column {
  name: string
  kind: 'attribute' | 'extension' | 'cost'
  type: ColumnType
  allowed_values: AllowedValues | null
  ordinal: number
  letter: string
}

/** A column as the database has it. */
export type StoredColumn = Omit<Column, 'allowed_values'> & { allowed_values: ColumnValue[] | null }

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
  return groupColumns(readColumns(rows as StoredColumn[]))
}

/** Columns as the database has them, with their allowed values. */
export function readColumns(rows: readonly StoredColumn[]): Column[] {
  return rows.map((row) => ({ ...row, allowed_values: readAllowedValues(row.allowed_values) }))
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
