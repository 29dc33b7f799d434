import { sql } from 'kysely'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { type InputColumn, inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { agreementKey } from './agreement-key.ts'

/** An agreement of the payload with the hash of its key, which is computed once. */
type KeyedAgreement = Schemas['AgreementInput'] & { key: string }

/** Creates agreements, or replaces the prices of those that exist. */
export const upsertAgreements: Handler<'upsertAgreements'> = ({
  account,
  body,
  errors,
  inAccount,
}) => {
  const sound = errors.sound(body).map(withKey)
  const agreements = uniqueRows(sound, errors, ({ key }) => key).map(({ row }) => row)
  errors.reject()
  return inAccount(async (trx) => {
    await upsertAgreementRows(trx, account, agreements)
    return {}
  })
}

function withKey({
  row,
  position,
}: Positioned<Schemas['AgreementInput']>): Positioned<KeyedAgreement> {
  return { row: { ...row, key: agreementKey(row) }, position }
}

/** Upserts rows that are sorted by key, in one statement; unchanged rows are not written and keep their version. */
async function upsertAgreementRows(
  trx: Trx,
  account: number,
  agreements: KeyedAgreement[],
): Promise<void> {
  const input = await inputRows(trx, agreementColumns, agreements)
  await sql`
    insert into agreements as present (account_id, key_hash, name, client_code, price_list_code, price_line, prices)
    select ${account}, decode(key, 'hex'), name, client_code, price_list_code, price_line::jsonb, prices::jsonb
    from ${input}
    on conflict (account_id, key_hash) do update set prices = excluded.prices, version = present.version + 1
    where present.prices is distinct from excluded.prices`.execute(trx)
}

const agreementColumns: InputColumn<KeyedAgreement>[] = [
  { name: 'key', type: 'text', value: ({ key }) => key },
  { name: 'name', type: 'text', value: ({ name }) => name },
  { name: 'client_code', type: 'text', value: ({ client_code }) => client_code },
  { name: 'price_list_code', type: 'text', value: ({ price_list_code }) => price_list_code },
  { name: 'price_line', type: 'text', value: ({ price_line }) => JSON.stringify(price_line) },
  { name: 'prices', type: 'text', value: ({ prices }) => JSON.stringify(prices) },
]
