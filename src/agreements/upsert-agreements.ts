import { type RawBuilder, sql } from 'kysely'
import type { Positioned } from '../contract/duplicates.ts'
import type { FeedId, Upsert } from '../contract/feed.ts'
import type { Schemas } from '../contract/operation.ts'
import type { InputColumn, InsertRows } from '../database/input-rows.ts'
import { upsertStaged } from '../database/staging-table.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { agreementKey } from './queries.ts'

/** An agreement with its key, which is computed once. */
type KeyedAgreement = Schemas['AgreementInput'] & { key: string }

/** Creates agreements or replaces the prices of existing ones. */
export const upsertAgreements: Upsert<'upsertAgreements'> = async (trx, { account }) => ({
  columns: [],
  ignored: [],
  ids: [agreementId(account)],
  table: 'agreements',
  input: agreementColumns,
  key: ['key'],
  keyOf: ({ key }: KeyedAgreement) => key,
  read: (rows: readonly Schemas['AgreementInput'][], errors) =>
    mapCooperatively(errors.sound(rows), withKey),
  write: (staged) => upsertStaged(staged, upsertFrom(account, staged.input)),
  upsert: (input) => sql`with upserted as (${upsertFrom(account, input)}) select`.execute(trx),
  answer: () => ({}),
})

function agreementId(account: number): FeedId {
  const key = (table: string) =>
    sql.join(keyFields.map((name) => sql`${sql.ref(`${table}.${name}`)}::text`))
  return {
    name: 'id',
    type: 'bigint',
    parts: keyFields,
    changed: sql`
      select array[${key('r')}] as was, array[${key('f')}] as says from agreements r
      where r.account_id = ${account} and r.id = f.given_id and r.key_hash <> decode(f.key, 'hex')`,
  }
}

const keyFields = ['name', 'client_code', 'price_list_code', 'price_line']

function withKey({
  row,
  position,
}: Positioned<Schemas['AgreementInput']>): Positioned<KeyedAgreement> {
  return { row: { ...row, key: agreementKey(row) }, position }
}

/** Rows are sorted by key. Unchanged ones are not written and keep their version. */
function upsertFrom(account: number, input: InsertRows): RawBuilder<unknown> {
  return sql`
    insert into agreements as present (account_id, key_hash, name, client_code, price_list_code, price_line, prices)
    ${input.rows((column) => [
      sql`${account}`,
      sql`decode(${column('key')}, 'hex')`,
      ...agreementColumns.slice(1).map(({ name }) => column(name)),
    ])}
    on conflict (account_id, key_hash) do update set prices = excluded.prices, version = present.version + 1
    where present.prices is distinct from excluded.prices
    returning xmax = 0 as created`
}

const agreementColumns: InputColumn<KeyedAgreement>[] = [
  { name: 'key', type: 'text', value: ({ key }) => key },
  { name: 'name', type: 'text', value: ({ name }) => name },
  { name: 'client_code', type: 'text', value: ({ client_code }) => client_code },
  { name: 'price_list_code', type: 'text', value: ({ price_list_code }) => price_list_code },
  { name: 'price_line', type: 'jsonb', value: ({ price_line }) => JSON.stringify(price_line) },
  { name: 'prices', type: 'jsonb', value: ({ prices }) => JSON.stringify(prices) },
]
