import { type RawBuilder, sql } from 'kysely'
import type { FeedColumn, FeedId, OpenFeed } from '../contract/feed.ts'
import { isObject } from '../contract/merge-patch.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import { type StagedFaults, stagedFaults, stagedFaultsMax } from '../contract/staged-faults.ts'
import type { Trx } from '../database/pool.ts'
import { allStaged } from '../database/staging-table.ts'
import type { FileRows } from './rows.ts'

type Ids = Pick<OpenFeed, 'ids'>

/** The columns of a CSV file that hold ids. */
export function idColumns({ ids }: Ids): FeedColumn[] {
  return ids.map(({ name, type }) => {
    return { name, type: type === 'bigint' ? 'id' : 'string', isRequired: false }
  })
}

/** The columns of staged rows that hold ids: `given_<name>`. */
export function stagedIds({ ids }: Ids): { name: string; type: string }[] {
  return ids.map(({ name, type }) => ({ name: givenName(name), type }))
}

const givenName = (name: string) => `given_${name}`

/** Returns the feed with only the ids that the file can have: for CSV, those in its header. */
export function withIdsOf<Feed extends Ids>(
  feed: Feed,
  { header }: Pick<FileRows, 'header'>,
): Feed {
  if (header.length === 0) return feed
  return { ...feed, ids: feed.ids.filter(({ name }) => header.includes(name)) }
}

/**
 * Separates ids from rows, because the contract's rows have none. `given` has each row's ids; null where one is absent.
 */
export function takeIds(values: unknown[], { ids }: Ids): { rows: unknown[]; given: unknown[][] } {
  const names = ids.map(({ name }) => name)
  const given = values.map((value) =>
    names.map((name) => (isObject(value) ? (value[name] ?? null) : null)),
  )
  const rows = values.map((value) => (isObject(value) ? withoutKeys(value, names) : value))
  return { rows, given }
}

/** Copies the row: objects after `delete` made loading a file take 50 % longer. */
function withoutKeys(row: Record<string, unknown>, names: readonly string[]): object {
  if (!names.some((name) => Object.hasOwn(row, name))) return row
  const rest: Record<string, unknown> = {}
  for (const key in row) if (!names.includes(key)) rest[key] = row[key]
  return rest
}

/** Adds an error for each malformed id. */
export function rejectFaultyIds(
  given: readonly unknown[][],
  { ids }: Ids,
  errors: RowErrors,
): void {
  for (const [position, values] of given.entries()) {
    for (const [index, { name, type }] of ids.entries()) {
      const value = values[index]
      if (value === null || (type === 'bigint' ? isId(value) : typeof value === 'string')) continue
      const message = type === 'bigint' ? 'must be an id: digits only' : 'must be a text'
      errors.add(position, name, 'type', message)
    }
  }
}

function isId(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0
}

interface Changed {
  position: number
  line: number
  total: number
  /** The index in `ids`. */
  place: number
  given: string
  /** The first part that differs, counted from 1; null if the former key is unknown. */
  part: number | null
  was: string | null
  says: string | null
}

/** Finds the staged rows with an id that belongs to another key, each with its first such id. */
export async function findChangedKeys(trx: Trx, { ids }: Ids): Promise<StagedFaults> {
  if (ids.length === 0) return { first: [], count: 0 }
  const shown = (text: string) => sql`left(${sql.ref(text)}, ${textMax + 1}::integer)`
  const { rows } = await sql<Changed>`
    select f.position, f.line, f.total, f.place, ${shown('f.given')} as given,
      parts.part, ${shown('parts.was')} as was, ${shown('parts.says')} as says
    from (
      select *, count(*) over () as total
      from (
        select distinct on (position) * from (${sql.join(ids.map(rowsWith), sql` union all `)}) as of_any
        order by position, place
      ) as first_of_row
      order by position limit ${stagedFaultsMax}
    ) as f
    left join lateral (
      select * from unnest(f.was, f.says) with ordinality as parts (was, says, part)
      where f.was is not null and was is distinct from says order by part limit 1
    ) as parts on true
    order by position`.execute(trx)
  return stagedFaults(rows, (row) => {
    const { name, parts } = ids[row.place] as FeedId
    return { field: name, code: 'key_changed', message: wording(row, parts) }
  })
}

/** SELECT of the staged rows whose key is not the key of the id at `place`. */
function rowsWith({ name, changed }: FeedId, place: number): RawBuilder<unknown> {
  const given = sql.ref(`f.${givenName(name)}`)
  // Without `offset 0` Postgres may scan the staging table once for each stored row.
  return sql`
    select f.position, f.line, ${place}::integer as place, ${given}::text as given, c.was, c.says
    from ${allStaged} f cross join lateral (${changed} offset 0) as c where ${given} is not null`
}

function wording({ given, part, was, says }: Changed, parts: readonly string[]): string {
  if (part === null) return 'does not belong to the key of this row: one of them was changed'
  const [before, now] = [quoted(was), quoted(says)]
  return `${cut(given)} has ${parts[part - 1]} ${before}, this row ${now}: a spreadsheet may have changed it`
}

const quoted = (text: string | null) => (text === null ? 'none' : `"${cut(text)}"`)

/** The most code points of a text in a message. */
const textMax = 80

function cut(text: string): string {
  const points = [...text]
  return points.length > textMax ? `${points.slice(0, textMax).join('')}…` : text
}
