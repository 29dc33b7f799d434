import { sql } from 'kysely'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
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
  const texts = (read: (agreement: KeyedAgreement) => string) =>
    sql`${agreements.map(read)}::text[]`
  const input = [
    texts(({ key }) => key),
    texts(({ name }) => name),
    texts(({ client_code }) => client_code),
    texts(({ price_list_code }) => price_list_code),
    texts(({ price_line }) => JSON.stringify(price_line)),
    texts(({ prices }) => JSON.stringify(prices)),
  ]
  await sql`
    insert into agreements as present (account_id, key_hash, name, client_code, price_list_code, price_line, prices)
    select ${account}, decode(key, 'hex'), name, client_code, price_list_code, price_line::jsonb, prices::jsonb
    from unnest(${sql.join(input)}) as input (key, name, client_code, price_list_code, price_line, prices)
    on conflict (account_id, key_hash) do update set prices = excluded.prices, version = present.version + 1
    where present.prices is distinct from excluded.prices`.execute(trx)
}
