import { transaction } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import { findPriceList, type PriceList } from '../queries.ts'
import { revisionColumns, revisionOf, selectRevisions } from './queries.ts'

/** One revision of a list. Throws `not-found`. */
export const readRevision = transaction<'readRevision'>(async (trx, { account, params }) => {
  const list = await findPriceList(trx, account, { id: params.id })
  const found = await selectRevisions(trx, list)
    .select(revisionColumns)
    .where('revision', '=', params.revision)
    .executeTakeFirst()
  if (!found) throw notFound(list)
  return revisionOf(found)
})

function notFound({ oldest_revision: oldest }: PriceList): Problem {
  const beginning = oldest > 0 ? ` Its history begins with revision ${oldest}.` : ''
  return new Problem('not-found', `The price list has no such revision.${beginning}`)
}
