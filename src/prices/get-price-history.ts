import { findColumns } from '../catalog/columns.ts'
import { type Schemas, transaction } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { invalidRequest, pointerSegment, type RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { utcTimestamp } from '../lib/formats.ts'
import { findMoment, historyNotKept } from '../price-lists/history/moments.ts'
import { findPriceList, type PriceList, rejectUnpublished } from '../price-lists/queries.ts'
import { findNamedList } from './payload.ts'
import { entriesMax, findHistories, type HistoryRange } from './read/price-histories.ts'
import { asText } from './read/read-prices.ts'
import { isExact, readWantedRows, type WantedRow } from './read/wanted-rows.ts'

/** Keys per statement. */
const keysAtOnce = 1000
const allEntriesMax = 1_000_000

/** Returns the prices of rows over time, the newest 1,000 entries per row. */
export const getPriceHistory = transaction<'getPriceHistory'>(
  async (trx, { account, body, errors }) => {
    const list = await findNamedList(body, (by) => findPriceList(trx, account, by))
    rejectUnpublished(list)
    const columns = await findColumns(trx, account)
    const wanted = readWantedRows(errors.sound(body.payload), list, columns, errors)
    if (errors.count === 0) rejectWildcards(wanted, columns.extensions, errors)
    const range = await readRange(trx, list, body)
    errors.reject()
    const texts: string[] = []
    let entries = 0
    for (let from = 0; from < wanted.length; from += keysAtOnce) {
      const rows = wanted.slice(from, from + keysAtOnce)
      const found = await findHistories(trx, list, rows, range)
      entries += found.reduce((sum, { count }) => sum + count, 0)
      rejectTooLarge(entries)
      const ofRow = ({ row }: WantedRow, index: number) =>
        `${keyText(row)},"history":${found[index]?.entries ?? '[]'}}`
      texts.push(rows.map(ofRow).join(','))
    }
    return asText(texts, wanted.length)
  },
)

/** A row as the text of an open JSON object, without an extension that is named like the history. */
function keyText(row: WantedRow['row']): string {
  const { history: _, ...key } = row as typeof row & { history?: unknown }
  return JSON.stringify(key).slice(0, -1)
}

/** A history belongs to one price, so each row must name its code and all extensions. */
function rejectWildcards(
  wanted: WantedRow[],
  extensions: { name: string }[],
  errors: RowErrors,
): void {
  for (const [position, row] of wanted.entries()) {
    if (isExact(row)) continue
    const missing = extensions.filter((_, index) => row.extensions[index] === null)
    const names = [...(row.code === null ? ['code'] : []), ...missing.map(({ name }) => name)]
    for (const name of names)
      errors.add(
        position,
        pointerSegment(name),
        'required',
        'is required: a history has no wildcards',
      )
  }
}

async function readRange(
  trx: Trx,
  list: PriceList,
  { from, to }: Schemas['GetPriceHistoryInput'],
): Promise<HistoryRange> {
  const range = {
    from:
      from === undefined || Number(from) === 0
        ? undefined
        : await readMoment(trx, list, 'from', from),
    to: to === undefined ? undefined : await readMoment(trx, list, 'to', to),
  }
  const isReversed = range.from && range.to && Date.parse(range.from) > Date.parse(range.to)
  if (isReversed)
    throw invalidRequest([
      { pointer: '/from', field: 'from', code: 'range', message: 'must not be after to' },
    ])
  return range
}

/** A timestamp may lie before the list's publication, or in the future. */
async function readMoment(
  trx: Trx,
  list: PriceList,
  field: 'from' | 'to',
  moment: number | string,
): Promise<string> {
  const isRevision = /^\d+$/.test(String(moment))
  if (isRevision) return (await findMoment(trx, list, moment, { pointer: `/${field}`, field })).at
  const at = utcTimestamp(String(moment))
  if (list.oldest_at !== null && Date.parse(at) < list.oldest_at.getTime())
    throw historyNotKept(list)
  return at
}

function rejectTooLarge(entries: number): void {
  if (entries <= allEntriesMax) return
  throw new Problem(
    'result-too-large',
    `An answer has at most ${allEntriesMax} entries, ${entriesMax} of a row. Send fewer rows, or a later \`from\`.`,
  )
}
