import { type RawBuilder, sql } from 'kysely'
import { readNumbers } from './array-literal.ts'
import { CopySource } from './copy.ts'
import { type InputColumn, type InsertRows, selectedRows } from './input-rows.ts'
import { onlyRow } from './only-row.ts'
import type { Trx } from './pool.ts'

/** The rows of a file in a temporary table, with their `position` (from 0) and `line` (from 1) in the file. */
export interface StagedRows {
  trx: Trx
  /** Each key once, in the order of the keys. */
  input: InsertRows
}

/** Two different rows with the same key. */
export interface Contradiction {
  position: number
  line: number
  firstLine: number
  /** How many contradictions the file has. */
  total: number
}

const placeColumns = [
  { name: 'position', type: 'integer' },
  { name: 'line', type: 'integer' },
] as const

/** Copies rows into a table that is dropped at commit. `lines` are COPY text, with position and line as last fields. */
export async function stageRows(
  trx: Trx,
  columns: readonly Pick<InputColumn<never>, 'name' | 'type'>[],
  lines: AsyncIterable<string>,
): Promise<void> {
  const definitions = [...columns, ...placeColumns].map(
    ({ name, type }) =>
      sql`${sql.ref(name)} ${sql.raw(type)}${type.startsWith('text') ? sql` collate "C"` : sql``}`,
  )
  await sql`create temporary table feed (${sql.join(definitions)}) on commit drop`.execute(trx)
  await sql`copy pg_temp.feed from stdin ${new CopySource(lines)}`.execute(trx)
  await sql`analyze pg_temp.feed`.execute(trx)
}

/**
 * Returns the first `max` rows that differ from the first row with the same key; undefined if no key is repeated. Rows
 * are compared as text: 1.0 and 1.00 differ, while a `jsonb` has one text for every order of its keys.
 */
export async function findRepeated(
  trx: Trx,
  columns: readonly Pick<InputColumn<never>, 'name'>[],
  key: readonly string[],
  max: number,
): Promise<Contradiction[] | undefined> {
  const keys = keysOf(key)
  const { rows: repeated } = await sql`
    select from pg_temp.feed group by ${keys} having count(*) > 1 limit 1`.execute(trx)
  if (repeated.length === 0) return undefined
  const texts = sql.join(columns.map(({ name }) => sql`${sql.ref(name)}::text`))
  const { rows } = await sql<Contradiction>`
    with numbered as (
      select position, line, first_value(line) over same_key as "firstLine",
        row(${texts}) is distinct from first_value(row(${texts})) over same_key as differs
      from pg_temp.feed window same_key as (partition by ${keys} order by position)
    )
    select position, line, "firstLine", count(*) over () as total
    from numbered where differs order by position limit ${max}`.execute(trx)
  return rows
}

/** A FROM item without an alias: all staged rows. */
export const allStaged: RawBuilder<unknown> = sql`pg_temp.feed`

/** A FROM item without an alias: the first row of each key. */
export function firstOfEachKey(key: readonly string[]): RawBuilder<unknown> {
  const keys = keysOf(key)
  return sql`(select distinct on (${keys}) * from pg_temp.feed order by ${keys}, position)`
}

/** Deletes all but the first row of each key. */
export async function deleteRepeated(trx: Trx, key: readonly string[]): Promise<void> {
  await sql`
    delete from pg_temp.feed where position in (
      select position from (
        select position, row_number() over (partition by ${keysOf(key)} order by position) as place
        from pg_temp.feed
      ) as numbered where place > 1
    )`.execute(trx)
}

/** The staged rows; no key may be repeated. */
export function stagedRows(trx: Trx, key: readonly string[]): StagedRows {
  const input = selectedRows(sql`(select * from pg_temp.feed order by ${keysOf(key)}) as input`)
  return { trx, input }
}

/**
 * Runs an upsert that returns `created` for each row that it writes. Rows that are not created count as updated; those
 * that it does not write also count as unchanged.
 */
export async function upsertStaged(
  { trx }: StagedRows,
  upsert: RawBuilder<unknown>,
): Promise<Record<'created' | 'updated' | 'unchanged', number>> {
  const { created, written } = await onlyRow<{ created: number; written: number }>(trx)`
    with upserted as (${upsert})
    select count(*) filter (where created) as created, count(*) as written from upserted`
  const { count: total } = await onlyRow<{ count: number }>(trx)`
    select count(*) as count from pg_temp.feed`
  return { created, updated: total - created, unchanged: total - written }
}

/** Rows that an upsert has written; `keys` and `ids` go together. */
export interface UpsertedKeys {
  keys: string[]
  ids: number[]
}

export type UpsertedRows = Record<'created' | 'updated', UpsertedKeys>

/** Runs an upsert that returns `key`, `id` and `created` per row. Returns the rows for which `reported` is true. */
export async function upsertKeys(
  trx: Trx,
  upsert: RawBuilder<unknown>,
  reported: RawBuilder<boolean>,
): Promise<UpsertedRows> {
  const { rows } = await sql<{ created: boolean; keys: string[]; ids: string }>`
    with upserted as (${upsert})
    select created, json_agg(key) as keys, array_agg(id)::text as ids
    from upserted where ${reported} group by created`.execute(trx)
  const written = (created: boolean): UpsertedKeys => {
    const { keys = [], ids = null } = rows.find((row) => row.created === created) ?? {}
    return { keys, ids: readNumbers(ids) }
  }
  return { created: written(true), updated: written(false) }
}

function keysOf(key: readonly string[]): RawBuilder<unknown> {
  return sql.join(key.map((name) => sql.ref(name)))
}
