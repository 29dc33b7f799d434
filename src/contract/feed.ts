import type { RawBuilder } from 'kysely'
import type { operations } from '../../generated/openapi.d.ts'
import type { InputColumn } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import type { StagedRows } from '../database/staging-table.ts'
import type { Positioned } from './duplicates.ts'
import type { Answer, Context, OperationId, OperationRequest, Schemas } from './operation.ts'
import type { RowErrors } from './row-errors.ts'
import type { StagedFaults } from './staged-faults.ts'

/** How the cells of a column are read; `boolean text` is `"true"` or `"false"` in JSON, an `id` is plain digits. */
export type CellType = 'string' | 'integer' | 'number' | 'boolean' | 'boolean text' | 'date' | 'id'

/** A column that rows may have beside the fixed keys of the contract. */
export interface FeedColumn {
  name: string
  type: CellType
  /** Whether a row without it is refused. */
  isRequired: boolean
}

/** An id or hash that exports have beside the key of a row. It is staged as the column `given_<name>`. */
export interface FeedId {
  name: string
  type: 'bigint' | 'text'
  /** Names of the parts of the key, in the order of the arrays of `changed`. */
  parts: readonly string[]
  /**
   * A SELECT that has a row where the staged row `f` has another key than the id stands for: as arrays of texts, what each
   * part of the key `was` (null: unknown) and what the row `says`.
   */
  changed: RawBuilder<unknown>
}

/** What happened to the rows of a file. */
export type FeedCounts = Omit<Schemas['FeedResult'], 'rows'>

/**
 * A feed in its transaction: what its rows look like, how they are stored beside each other, and what is done with all
 * of them at last. Nothing is locked before `findFaults`: a client may take long to send its rows.
 */
export interface OpenFeed<Row = unknown, Stored = unknown> {
  columns: readonly FeedColumn[]
  /** Keys that only answers have: what was exported can be loaded as it is. */
  ignored: readonly string[]
  /** Keys that only answers have and that must belong to the key of the row. The first that does not is named. */
  ids: readonly FeedId[]
  /** The rows to store, of those that the contract allows; what is wrong with a row goes to `errors`. */
  read: (rows: readonly Row[], errors: RowErrors) => Promise<Positioned<Stored>[]>
  input: InputColumn<Stored>[]
  /** Columns of `input` that identify a row, in the order in which rows are written. */
  key: readonly string[]
  /**
   * The rows that contradict each other or what is stored, beyond those that share a key and differ. It is asked when all
   * rows are there, those that are repeated too, and may lock what they are compared with. `once` is a FROM item, still
   * without a name, that has each key once.
   */
  findFaults?: (once: RawBuilder<unknown>) => Promise<StagedFaults>
  /** Writes all rows in a few statements, or answers the job that will. It may run again after a deadlock. */
  write: (staged: StagedRows) => Promise<FeedCounts | Answer<Schemas['JobInfo']>>
}

/** Operations that take their rows from files. */
export type FeedOperation = {
  [Id in OperationId]: operations[Id] extends {
    requestBody: { content: { 'text/csv': string } }
  }
    ? Id
    : never
}[OperationId]

/** What a feed is opened with. */
export interface FeedRequest<Id extends OperationId>
  extends Pick<OperationRequest<Id>, 'account' | 'query'> {
  /** The job that loads the file; undefined: its request does. */
  job?: number | undefined
}

/** How an operation takes its rows from a file: CSV or NDJSON of any length. */
export type Feed<Id extends OperationId> = (
  trx: Trx,
  request: FeedRequest<Id>,
  context: Context,
  // biome-ignore lint/suspicious/noExplicitAny: rows of each feed are its own affair.
) => Promise<OpenFeed<any, any>>
