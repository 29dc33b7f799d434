import { transaction } from '../../contract/operation.ts'
import { lockAccount } from '../queries.ts'
import { findScopes, requireOtherAdmin } from './queries.ts'

/** Deletes a user; API keys that the user created stay valid. Throws `last-admin` for the only user with `admin`. */
export const deleteUser = transaction<'deleteUser'>(async (trx, { account, params: { id } }) => {
  await lockAccount(trx, account)
  const scopes = await findScopes(trx, account, id)
  if (scopes.includes('admin')) await requireOtherAdmin(trx, account, id)
  await trx.deleteFrom('users').where('account_id', '=', account).where('id', '=', id).execute()
  return undefined
})
