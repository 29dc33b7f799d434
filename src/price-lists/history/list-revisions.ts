import { sql } from 'kysely'
import type { Export } from '../../contract/export.ts'
import { Answer, type OperationRequest, transaction } from '../../contract/operation.ts'
import { readPage } from '../../contract/read-page.ts'
import type { Trx } from '../../database/pool.ts'
import { utcTimestamp } from '../../lib/formats.ts'
import { findPriceList, type PriceList } from '../queries.ts'
import { revisionColumns, revisionOf, type StoredRevision, selectRevisions } from './queries.ts'
import { revisionHeader } from './record-revision.ts'

/** One page of a list's revisions, newest first. */
export const listRevisions = transaction<'listRevisions'>(
  async (trx, { account, params, query }) => {
    const list = await findPriceList(trx, account, { id: params.id })
    const all = filtered(trx, list, query)
    const revisions = all.select(revisionColumns)
    const { count, rows } = await readPage(trx, { all, rows: revisions, query, order: 'desc' })
    const results = rows.map(revisionOf)
    return new Answer({ count, results }, revisionHeader(list.version))
  },
)

const fileColumns = (
  'revision at kind actor_type actor_id actor_name request_id job_id plan_id note override ' +
  'observed_at reverts_from reverts_to voided priced added removed'
).split(' ')

/** Exports all revisions that pass the filters, newest first. */
export const exportRevisions: Export<'listRevisions'> = async (trx, request) => {
  const list = await findPriceList(trx, request.account, { id: request.params.id })
  return {
    headers: revisionHeader(list.version),
    columns: fileColumns,
    query: filtered(trx, list, request.query).select(revisionColumns).orderBy('revision', 'desc'),
    rowsOf: (stored: StoredRevision) => {
      const { actor, reverts, ...revision } = revisionOf(stored)
      const named = { actor_type: actor.type, actor_id: actor.id, actor_name: actor.name }
      return [{ ...revision, ...named, reverts_from: reverts?.from, reverts_to: reverts?.to }]
    },
  }
}

type Filters = OperationRequest<'listRevisions'>['query']

function filtered(trx: Trx, list: PriceList, { from, to, kind }: Filters) {
  const moment = (text: string) => sql<Date>`${utcTimestamp(text)}::timestamptz`
  return selectRevisions(trx, list)
    .$if(from !== undefined, (some) => some.where('at', '>=', moment(from ?? '')))
    .$if(to !== undefined, (some) => some.where('at', '<', moment(to ?? '')))
    .$if(kind !== undefined, (some) => some.where('kind', '=', kind ?? ''))
}
