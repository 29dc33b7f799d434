import { type ControlledTransaction, sql } from 'kysely'
import type { DB } from '../../generated/database.d.ts'
import { nextTurn } from '../lib/cooperative.ts'
import { SnapshotFailed } from './errors.ts'
import { type Database, hasSpareConnections, type Trx } from './pool.ts'
import { exportSnapshot } from './reading-client.ts'
import { setAccount } from './tenant-transaction.ts'

/** Opens a transaction of the account that sees what `trx` sees at that moment; undefined where few connections have nothing to do. */
export type OpenBeside = (trx: Trx) => Promise<ControlledTransaction<DB> | undefined>

/** A snapshot is a file: while the disk is full each one that is asked for fails the transaction that asks. */
const pauseAfterFailureMs = 10_000
const failedAt = new WeakMap<Database, number>()

/** `OpenBeside` on the connections of `db`. */
export const besideInAccount =
  (db: Database, account: number): OpenBeside =>
  async (trx) => {
    if (!hasSpareConnections(db, 1) || hasJustFailed(db)) return undefined
    const snapshot = findSnapshot(trx)
    snapshot.catch(() => failedAt.set(db, performance.now()))
    const beside = await db.startTransaction().execute()
    try {
      const id = await snapshot
      await setAccount(beside, account)
      await sql`set transaction snapshot ${sql.lit(id)}`.execute(beside)
      return beside
    } catch (error) {
      await beside.rollback().execute()
      throw error
    }
  }

const hasJustFailed = (db: Database) =>
  performance.now() - (failedAt.get(db) ?? -Infinity) < pauseAfterFailureMs

async function findSnapshot(trx: Trx): Promise<string | undefined> {
  const { rows } = await sql.raw<{ id: string | Promise<string> }>(exportSnapshot).execute(trx)
  return rows[0]?.id
}

/**
 * Runs `work`, which asks for the transaction of each of its statements: `trx` and the one beside it in turns, so that
 * two processors of the database work on one read. Where none can be opened beside it, `trx` does it all.
 */
export async function onTwoConnections<T>(
  trx: Trx,
  openBeside: OpenBeside,
  work: (next: () => Promise<Trx>) => Promise<T>,
): Promise<T> {
  const opening = openBeside(trx).catch(() => undefined)
  // The snapshot is asked for before the first statement is: its answer would come after that one's.
  await nextTurn()
  let turn = 0
  try {
    return await work(async () => (turn++ % 2 === 0 ? trx : ((await opening) ?? trx)))
  } catch (error) {
    throw isOfAnother(error) ? new SnapshotFailed(error) : error
  } finally {
    opening.then((beside) => beside?.commit().execute()).catch(() => undefined)
  }
}

/** Whether a statement was refused for an earlier one: of the transaction's own that one's failure would be seen first. */
const isOfAnother = (error: unknown) => (error as { code?: string }).code === '25P02'
