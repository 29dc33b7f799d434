import { type RawBuilder, sql } from 'kysely'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import type { Feed } from '../contract/feed.ts'
import { mapInTurns } from '../contract/in-turns.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { type InputColumn, inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { agreementKey } from './agreement-key.ts'

/** An agreement of the payload with the hash of its key, which is computed once. */
type KeyedAgreement = Schemas['AgreementInput'] & { key: string }

/** Creates agreements, or replaces the prices of those that exist. */
export const upsertAgreements: Handler<'upsertAgreements'> = async ({
  account,
  body,
  errors,
  inAccount,
}) => {
  const keyed = await mapInTurns(errors.sound(body), withKey)
  const unique = await uniqueRows(keyed, errors, ({ key }) => key)
  const agreements = unique.map(({ row }) => row)
  errors.reject()
  return inAccount(async (trx) => {
    await upsertAgreementRows(trx, account, await inputRows(trx, agreementColumns, agreements))
    return {}
  })
}

/** Agreements from a file. */
export const feedAgreements: Feed<'upsertAgreements'> = async (trx, { account }) => ({
  ...{ columns: [], ignored: ['id'], input: agreementColumns, key: ['key'] },
  read: async (rows: readonly Schemas['AgreementInput'][], errors) =>
    errors.sound(rows).map(withKey),
  write: async ({ input, count }) => {
    const created = await upsertAgreementRows(trx, account, input)
    return { created, updated: (await count()) - created }
  },
})

function withKey({
  row,
  position,
}: Positioned<Schemas['AgreementInput']>): Positioned<KeyedAgreement> {
  return { row: { ...row, key: agreementKey(row) }, position }
}

/**
 * Upserts rows that are sorted by key, in one statement; answers how many are new. Unchanged rows are not written and
 * keep their version.
 */
async function upsertAgreementRows(
  trx: Trx,
  account: number,
  input: RawBuilder<unknown>,
): Promise<number> {
  const { rows } = await sql<{ created: number }>`
    with upserted as (
      insert into agreements as present (account_id, key_hash, name, client_code, price_list_code, price_line, prices)
      select ${account}, decode(key, 'hex'), name, client_code, price_list_code, price_line, prices
      from ${input}
      on conflict (account_id, key_hash) do update set prices = excluded.prices, version = present.version + 1
      where present.prices is distinct from excluded.prices
      returning xmax = 0 as created
    )
    select count(*) filter (where created) as created from upserted`.execute(trx)
  return rows[0]?.created ?? 0
}

const agreementColumns: InputColumn<KeyedAgreement>[] = [
  { name: 'key', type: 'text', value: ({ key }) => key },
  { name: 'name', type: 'text', value: ({ name }) => name },
  { name: 'client_code', type: 'text', value: ({ client_code }) => client_code },
  { name: 'price_list_code', type: 'text', value: ({ price_list_code }) => price_list_code },
  { name: 'price_line', type: 'jsonb', value: ({ price_line }) => JSON.stringify(price_line) },
  { name: 'prices', type: 'jsonb', value: ({ prices }) => JSON.stringify(prices) },
]
