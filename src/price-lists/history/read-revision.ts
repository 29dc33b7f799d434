import type { Handler } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import { findPriceList } from '../queries.ts'
import { revisionColumns, revisionOf, selectRevisions } from './queries.ts'

/** One revision of a list. Throws `not-found`. */
export const readRevision: Handler<'readRevision'> = ({ account, params, inAccount }) =>
  inAccount(async (trx) => {
    const list = await findPriceList(trx, account, { id: params.id })
    const found = await selectRevisions(trx, list)
      .select(revisionColumns)
      .where('revision', '=', params.revision)
      .executeTakeFirst()
    if (!found) throw new Problem('not-found', 'The price list has no such revision.')
    return revisionOf(found)
  })
