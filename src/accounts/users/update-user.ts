import type { Handler } from '../../contract/operation.ts'
import { invalidRequest } from '../../contract/row-errors.ts'
import { faultsOfScopes, rejectMissingScopes } from '../given-scopes.ts'
import { lockAccount } from '../queries.ts'
import { findScopes, requireOtherAdmin, scopesOfUser } from './queries.ts'

/** Replaces a user's scopes. Throws `last-admin` if it takes `admin` from the only user who has it. */
export const updateUser: Handler<'updateUser'> = async ({
  account,
  params: { id },
  body,
  scopes: own,
  inAccount,
}) => {
  const { scopes } = body
  rejectMissingScopes(scopes, own)
  const faults = faultsOfScopes(scopes)
  if (faults.length > 0) throw invalidRequest(faults)
  return inAccount(async (trx) => {
    await lockAccount(trx, account)
    const before = await findScopes(trx, account, id)
    const losesAdmin = before.includes('admin') && !scopes.includes('admin')
    if (losesAdmin) await requireOtherAdmin(trx, account, id)
    const user = await trx
      .updateTable('users')
      .set({ scopes })
      .where('account_id', '=', account)
      .where('id', '=', id)
      .returning(['id', 'email', scopesOfUser, 'created_at'])
      .executeTakeFirstOrThrow()
    return { ...user, created_at: user.created_at.toISOString() }
  })
}
