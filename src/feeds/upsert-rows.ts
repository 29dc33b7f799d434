import { type Positioned, RowsByKey } from '../contract/duplicates.ts'
import type { OpenUpsert, Upsert } from '../contract/feed.ts'
import type { Handler, OperationId, RowSlices } from '../contract/operation.ts'
import { SliceErrors } from '../contract/staged-faults.ts'
import { insertRows } from '../database/input-rows.ts'
import { analyzeLoaded } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import { shareTable, tryTakeTable } from '../database/table-lock.ts'

/** A body that is written as it is read blocks the account's other writers: 250 ms for 8 MB. */
const bytesAsReadMax = 8 * 1024 * 1024

/**
 * Returns the handler of an operation that upserts the rows of a JSON body. PostgreSQL writes rows while Node reads the
 * next ones. After a fault, the rest is only read for its errors, and the transaction rolls back.
 */
export function upsertRows<Id extends OperationId>(open: Upsert<Id>): Handler<Id> {
  return ({ account, query, origin, slices, inAccount }, context) =>
    inAccount(async (trx) => {
      const found = await open(trx, { account, query, origin }, context)
      const isHeld = (await found.hold?.()) ?? true
      const upsert = isHeld ? found : await open(trx, { account, query, origin }, context)
      const { table, keyOf } = upsert
      const byKey = new RowsByKey(keyOf)
      const rows = newRows(upsert, slices, byKey)
      const isLong = slices.bytes > 0 && slices.bytes <= bytesAsReadMax
      const isAlone = isLong && (await tryTakeTable(trx, table, account))
      const written = isAlone
        ? await writeAsRead(trx, upsert, rows)
        : await writeSorted(trx, account, upsert, rows, byKey)
      await analyzeLoaded(trx, { table, owner: account, rows: byKey.keys().length })
      return upsert.answer(written, byKey)
    })
}

/** Yields sound rows with new keys, slice by slice, until one has a fault; throws all faults at the end. */
async function* newRows<Row, Stored>(
  { read, compare }: OpenUpsert<Row, Stored>,
  slices: RowSlices,
  byKey: RowsByKey<Stored>,
): AsyncGenerator<Positioned<Stored>[]> {
  const faults = new SliceErrors()
  for await (const { rows, errors } of slices.read(() => faults.left)) {
    const sound = await read(rows as readonly Row[], errors)
    await compare?.(sound, errors)
    const added = await byKey.addNew(sound, errors)
    faults.add(errors.all(), errors.count)
    if (faults.isEmpty && added.length > 0) yield added
  }
  faults.reject()
}

/** Sends the rows gathered so far whenever PostgreSQL has written the previous ones. */
async function writeAsRead<Stored, Written>(
  trx: Trx,
  { input, upsert }: OpenUpsert<never, Stored, Written>,
  slices: AsyncIterable<Positioned<Stored>[]>,
): Promise<Written[]> {
  const sent: Promise<Written>[] = []
  let gathered: Stored[] = []
  let isWriting = false
  const send = async () => {
    // Nothing can be copied after a failure, nor into a table that is still being written from.
    await Promise.all(sent)
    isWriting = true
    const rows = gathered
    gathered = []
    const from = await insertRows(trx, input, rows)
    const written = upsert(from, rows)
    // Its failure surfaces where it is awaited.
    written
      .catch(() => undefined)
      .finally(() => {
        isWriting = false
      })
    sent.push(written)
  }
  for await (const rows of slices) {
    gathered = gathered.concat(rows.map(({ row }) => row))
    if (!isWriting) await send()
  }
  if (gathered.length > 0) await send()
  return Promise.all(sent)
}

/** Writes all rows in key order, concurrently with others that do the same. */
async function writeSorted<Stored, Written>(
  trx: Trx,
  account: number,
  { input, upsert, table }: OpenUpsert<never, Stored, Written>,
  slices: AsyncIterable<unknown>,
  byKey: RowsByKey<Stored>,
): Promise<Written[]> {
  for await (const _ of slices);
  const rows = (await byKey.sorted()).map(({ row }) => row)
  if (rows.length === 0) return []
  const from = await insertRows(trx, input, rows)
  await shareTable(trx, table, account)
  return [await upsert(from, rows)]
}
