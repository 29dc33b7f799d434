import { type RawBuilder, sql } from 'kysely'
import { yieldToEventLoop } from '../lib/cooperative.ts'
import { CopySource, copyField, copyText } from './copy.ts'
import type { Trx } from './pool.ts'

export type InputValue = string | number | boolean | null

/** A column of an input, and its value in a row. Array types take array literals (`arrayLiteral`). */
export interface InputColumn<T> {
  name: string
  /** The PostgreSQL type. */
  type: string
  value: (row: T) => InputValue
}

/** The columns of `T`, for rows that each hold a `T`. */
export function columnsOf<Row, T>(
  columns: InputColumn<T>[],
  of: (row: Row) => T,
): InputColumn<Row>[] {
  return columns.map(({ value, ...column }) => ({ ...column, value: (row) => value(of(row)) }))
}

/**
 * From so many rows on, COPY into a temporary table, because its text is made in small pieces. At 10,000 rows array
 * parameters are 14 % faster for prices, and 3 % for sales.
 */
const copyRowsMin = 12_000

/** Whether so many rows are copied. A transaction can have one copied input at a time. */
export const isCopied = (rows: number): boolean => rows >= copyRowsMin

/** Above so many rows, other requests run between two columns. */
const rowsAtOnce = 1000

/**
 * Rows as a FROM item called `input` with these columns: one array parameter a column or, for many rows, COPY into a table
 * that is dropped at commit.
 */
export async function inputRows<T>(
  trx: Trx,
  columns: InputColumn<T>[],
  rows: readonly T[],
): Promise<RawBuilder<unknown>> {
  if (!isCopied(rows.length)) return unnestedRows(columns, rows)
  const definitions = columns.map(({ name, type }) => sql`${sql.ref(name)} ${sql.raw(type)}`)
  await sql`drop table if exists pg_temp.input`.execute(trx)
  await sql`create temporary table input (${sql.join(definitions)}) on commit drop`.execute(trx)
  const line = (row: T) => `${columns.map(({ value }) => copyField(value(row))).join('\t')}\n`
  await sql`copy pg_temp.input from stdin ${new CopySource(copyText(rows, line))}`.execute(trx)
  return sql`pg_temp.input as input`
}

/**
 * Rows as a FROM item called `input`, by array parameters. A value that is the same in all rows (a currency, a country) is
 * sent once. The first column is always unnested: it makes
 * the rows.
 */
export async function unnestedRows<T>(
  columns: InputColumn<T>[],
  rows: readonly T[],
): Promise<RawBuilder<unknown>> {
  const fields: RawBuilder<unknown>[] = []
  const names: RawBuilder<unknown>[] = []
  const arrays: RawBuilder<unknown>[] = []
  for (const [index, { name: text, type: typeText, value }] of columns.entries()) {
    const [name, type] = [sql.ref(text), sql.raw(typeText)]
    const values = rows.map(value)
    if (index > 0 && values.every((one) => one === values[0])) {
      fields.push(sql`${values[0] ?? null}::${type} as ${name}`)
      continue
    }
    const isText = isArray(typeText)
    fields.push(isText ? sql`${name}::${type} as ${name}` : name)
    names.push(name)
    arrays.push(sql`${arrayLiteral(values)}::${isText ? sql`text` : type}[]`)
    // A column of 10,000 rows takes a millisecond or two.
    if (rows.length > rowsAtOnce) await yieldToEventLoop()
  }
  return sql`(select ${sql.join(fields)} from unnest(${sql.join(arrays)}) as input (${sql.join(names)})) as input`
}

function isArray(type: string): boolean {
  return type.endsWith('[]')
}

/**
 * A one-dimensional array as text. Arrays of arrays are sent as an array of such texts, each cast in SQL: PostgreSQL has no
 * ragged arrays, and at most 65,535 parameters.
 */
export function arrayLiteral(items: readonly (string | number | boolean | null)[]): string {
  return `{${items.map(itemLiteral).join(',')}}`
}

function itemLiteral(item: string | number | boolean | null): string {
  if (item === null) return 'NULL'
  if (typeof item !== 'string') return String(item)
  // Most texts have nothing to escape: the test takes a third of the time of a replacement.
  return `"${/[\\"]/.test(item) ? item.replace(/[\\"]/g, '\\$&') : item}"`
}

/** The numbers of an array as text. JSON.parse takes a quarter of the time of parsing them one by one. */
export function readNumbers(array: string | null): number[] {
  return array ? JSON.parse(`[${array.slice(1, -1).replaceAll('NULL', 'null')}]`) : []
}
