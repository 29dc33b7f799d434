import { type RawBuilder, sql } from 'kysely'
import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'

export type ColumnType = Schemas['ColumnType']
export type ColumnValue = string | number | boolean

/** The allowed values of a column, in the order of declaration. In JSON they are a list. */
class AllowedValues {
  readonly list: ColumnValue[]
  /** The message for any other value; shared by all rows, because it may have 5,000 characters. */
  readonly message: string
  #set: ReadonlySet<ColumnValue> | undefined

  constructor(list: ColumnValue[]) {
    this.list = list
    this.message = `must be one of ${list.slice(0, 20).join(', ')}`
  }

  /** Builds a set when the first value is checked: a scan of a list of 10,000 takes 88 µs. */
  has(value: unknown): boolean {
    this.#set ??= new Set(this.list)
    return this.#set.has(value as ColumnValue)
  }

  toJSON(): ColumnValue[] {
    return this.list
  }
}

/** Allowed values from a declaration or the database; null allows any value. */
export function readAllowedValues(list: ColumnValue[] | null = null): AllowedValues | null {
  return list && new AllowedValues(list)
}

/** A column of the account. Rows store its values as canonical texts at `ordinal` (from 1) of its kind. */
export interface Column {
  name: string
  kind: 'attribute' | 'extension' | 'cost'
  type: ColumnType
  allowed_values: AllowedValues | null
  ordinal: number
  letter: string
}

/** A column as the database returns it. */
export type StoredColumn = Omit<Column, 'allowed_values'> & { allowed_values: ColumnValue[] | null }

/** The account's columns by kind, each kind in the order of its letters. */
export interface Columns {
  all: Column[]
  attributes: Column[]
  extensions: Column[]
  costs: Column[]
}

/** Reads the account's columns, in the order of their letters. */
export async function findColumns(trx: Trx, account: number): Promise<Columns> {
  const rows = await trx
    .selectFrom('catalog_columns')
    .select(['name', 'kind', 'type', 'allowed_values', 'ordinal', 'letter'])
    .where('account_id', '=', account)
    .orderBy('position')
    .execute()
  return groupColumns(readColumns(rows as StoredColumn[]))
}

/** Wraps the allowed values of stored columns. */
export function readColumns(rows: readonly StoredColumn[]): Column[] {
  return rows.map((row) => ({ ...row, allowed_values: readAllowedValues(row.allowed_values) }))
}

/** Reads the account's columns and locks them until the transaction ends. Other transactions may hold the same lock. */
export async function keepColumns(trx: Trx, account: number): Promise<Columns> {
  await trx.selectFrom('accounts').select('id').where('id', '=', account).forKeyShare().execute()
  return findColumns(trx, account)
}

/** Groups columns by kind and keeps their order. */
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

/** The margin formula of a list that gives none: price minus costs, in percent of the price. */
export function defaultMarginFormula(costs: readonly Column[]): string {
  const sum = costs.length === 0 ? '0' : `(${costs.map(({ letter }) => letter).join(' + ')})`
  return `= (Price - ${sum}) / Price * 100`
}

/** SQL of the values that order rows: code, then extensions; numbers by value, all else as text by code point. */
export function keyValues({ extensions }: Columns): RawBuilder<unknown>[] {
  const values = extensions.map(({ type, ordinal }) =>
    type === 'integer' || type === 'number'
      ? sql`(extensions[${ordinal}::integer])::numeric`
      : sql`extensions[${ordinal}::integer]`,
  )
  return [sql`code`, ...values]
}

/** SQL for ORDER BY: code, then extensions. */
export function keyOrder(columns: Columns): RawBuilder<unknown> {
  return sql.join(keyValues(columns))
}
