import { type RawBuilder, sql } from 'kysely'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import type { Feed, FeedId } from '../contract/feed.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { type InputColumn, inputRows } from '../database/input-rows.ts'
import { upsertStaged } from '../database/staging-table.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { agreementKey } from './queries.ts'

/** An agreement with the hash of its key, which is computed once. */
type KeyedAgreement = Schemas['AgreementInput'] & { key: string }

/** Creates agreements or replaces the prices of existing ones. */
export const upsertAgreements: Handler<'upsertAgreements'> = async ({
  account,
  body,
  errors,
  inAccount,
}) => {
  const keyed = await mapCooperatively(errors.sound(body), withKey)
  const unique = await uniqueRows(keyed, errors, ({ key }) => key)
  const agreements = unique.map(({ row }) => row)
  errors.reject()
  return inAccount(async (trx) => {
    const input = await inputRows(trx, agreementColumns, agreements)
    await sql`with upserted as (${upsertFrom(account, input)}) select`.execute(trx)
    return {}
  })
}

/** Agreements from a file. */
export const feedAgreements: Feed<'upsertAgreements'> = async (_trx, { account }) => ({
  columns: [],
  ignored: [],
  ids: [agreementId(account)],
  input: agreementColumns,
  key: ['key'],
  read: async (rows: readonly Schemas['AgreementInput'][], errors) =>
    errors.sound(rows).map(withKey),
  write: (staged) => upsertStaged(staged, upsertFrom(account, staged.input)),
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
function upsertFrom(account: number, input: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    insert into agreements as present (account_id, key_hash, name, client_code, price_list_code, price_line, prices)
    select ${account}, decode(key, 'hex'), name, client_code, price_list_code, price_line, prices
    from ${input}
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
