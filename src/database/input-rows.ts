import { type RawBuilder, sql } from 'kysely'
import { CopySource, copyField, copyText } from './copy.ts'
import type { Trx } from './pool.ts'

export type InputValue = string | number | boolean | null

/** A column of an input, and its value in a row. A value of an array type is an array literal (`arrayLiteral`). */
export interface InputColumn<T> {
  name: string
  /** The Postgres type. */
  type: string
  value: (row: T) => InputValue
}

/** From here on COPY into a temporary table is faster than array parameters, and its text is made in small pieces. */
const copyRowsMin = 5000

/**
 * Rows as a FROM item called `input` with these columns: whole payloads travel to Postgres at once, as one array
 * parameter a column or, when there are many, by COPY into a table that is dropped at commit.
 */
export async function inputRows<T>(
  trx: Trx,
  columns: InputColumn<T>[],
  rows: readonly T[],
): Promise<RawBuilder<unknown>> {
  if (rows.length < copyRowsMin) return unnested(columns, rows)
  const definitions = columns.map(({ name, type }) => sql`${sql.ref(name)} ${sql.raw(type)}`)
  await sql`drop table if exists pg_temp.input`.execute(trx)
  await sql`create temporary table input (${sql.join(definitions)}) on commit drop`.execute(trx)
  const line = (row: T) => `${columns.map(({ value }) => copyField(value(row))).join('\t')}\n`
  await sql`copy pg_temp.input from stdin ${new CopySource(copyText(rows, line))}`.execute(trx)
  return sql`pg_temp.input as input`
}

function unnested<T>(columns: InputColumn<T>[], rows: readonly T[]): RawBuilder<unknown> {
  const names = sql.join(columns.map(({ name }) => sql.ref(name)))
  const arrays = columns.map(
    ({ type, value }) =>
      sql`${rows.map(value)}::${sql.raw(isArray(type) ? 'text[]' : `${type}[]`)}`,
  )
  const typed = columns.map(({ name, type }) =>
    isArray(type) ? sql`${sql.ref(name)}::${sql.raw(type)} as ${sql.ref(name)}` : sql.ref(name),
  )
  return sql`(select ${sql.join(typed)} from unnest(${sql.join(arrays)}) as input (${names})) as input`
}

function isArray(type: string): boolean {
  return type.endsWith('[]')
}
