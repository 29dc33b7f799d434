import type { RawBuilder } from 'kysely'
import type { operations } from '../../generated/openapi.d.ts'
import type { InputColumn, InsertRows } from '../database/input-rows.ts'
import type { UpsertedTable } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import type { StagedRows } from '../database/staging-table.ts'
import type { Positioned, RowsByKey } from './duplicates.ts'
import type {
  Answer,
  Context,
  OperationId,
  OperationRequest,
  Schemas,
  Success,
} from './operation.ts'
import type { RowErrors } from './row-errors.ts'
import type { StagedFaults } from './staged-faults.ts'

/** How cells are read: `boolean text` is the string "true" or "false", an `id` is digits only. */
export type CellType = 'string' | 'integer' | 'number' | 'boolean' | 'boolean text' | 'date' | 'id'

/** A column that rows may have besides the keys of the contract. */
export interface FeedColumn {
  name: string
  type: CellType
  /** Whether a row without it is refused. */
  isRequired: boolean
}

/** An id or hash that exports have besides the key of a row. Staged as the column `given_<name>`. */
export interface FeedId {
  name: string
  type: 'bigint' | 'text'
  /** Names of the parts of the key, in the order of the arrays of `changed`. */
  parts: readonly string[]
  /**
   * A SELECT with a row if the staged row `f` has another key than the id: as arrays of texts, each part of the former key
   * (`was`, null if unknown) and of the row's key (`says`).
   */
  changed: RawBuilder<unknown>
}

/** What a feed has done: its result, and the revision of the price list that it changed. */
export interface FeedDone {
  result: Schemas['FeedResult']
  revision?: number | undefined
}

/** The result of a feed, without the number of rows, and the revision that it made. */
export type FeedCounts = Omit<Schemas['FeedResult'], 'rows'> & { revision?: number }

/**
 * A feed in its transaction: the shape of its rows, how they are staged, and how they are written. Nothing is locked
 * before `findFaults`, because a client may take long to send its rows.
 */
export interface OpenFeed<Row = unknown, Stored = unknown> {
  columns: readonly FeedColumn[]
  /** Keys that only answers have, ignored so that exports can be loaded. */
  ignored: readonly string[]
  /** Keys of answers that must belong to the key of the row. The first that does not is named. */
  ids: readonly FeedId[]
  /** Whether a row sets nothing. It is left out unchecked. */
  isSkipped?: (row: unknown) => boolean
  /** Makes the rows to stage of rows that the contract allows; adds errors of the others. */
  read: (rows: readonly Row[], errors: RowErrors) => Promise<Positioned<Stored>[]>
  input: InputColumn<Stored>[]
  /** Columns of `input` that identify a row; rows are written in their order. */
  key: readonly string[]
  /** The table, if other writers of its rows may lock them in another order. */
  table?: UpsertedTable
  /** Locks the columns by which rows are read, before rows are written. Returns whether they are as they were. */
  hold?: () => Promise<boolean>
  /**
   * The rows that contradict each other or what is stored, except those that share a key and differ. Called when all rows
   * are staged, also repeated ones; may lock what it compares them with. `once` is a FROM item without an alias that has
   * each key once.
   */
  findFaults?: (once: RawBuilder<unknown>) => Promise<StagedFaults>
  /** Writes all rows in a few statements, or answers a plan or job that will. May run again after a deadlock. */
  write: (staged: StagedRows) => Promise<FeedCounts | Answer<Schemas['JobInfo'] | Schemas['Plan']>>
}

/** A feed that upserts rows by their keys, so that those of a JSON body can be written while the next are read. */
export interface OpenUpsert<Row = unknown, Stored = unknown, Written = unknown, Answered = unknown>
  extends OpenFeed<Row, Stored> {
  table: UpsertedTable
  /** The key of a row, as a text. */
  keyOf: (row: Stored) => string
  /** Adds errors of rows that contradict earlier ones, except those that share a key and differ. */
  compare?: (rows: readonly Positioned<Stored>[], errors: RowErrors) => Promise<void>
  /** Upserts rows, each key once. */
  upsert: (input: InsertRows, rows: readonly Stored[]) => Promise<Written>
  /** The answer to a JSON body that took these upserts. */
  answer: (
    written: Written[],
    payload: Pick<RowsByKey<Stored>, 'keys' | 'positionOf'>,
  ) => Answered | Promise<Answered>
}

/** How an operation upserts rows, of a body or a file. */
export type Upsert<Id extends OperationId> = (
  trx: Trx,
  request: FeedRequest<Id>,
  context: Context,
  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own rows.
) => Promise<OpenUpsert<any, any, any, Success<Id> | Answer<Success<Id>>>>

/** Operations that take files. */
export type FeedOperation = {
  [Id in OperationId]: operations[Id] extends {
    requestBody: { content: { 'text/csv': string } }
  }
    ? Id
    : never
}[OperationId]

/** The request of a feed. */
export interface FeedRequest<Id extends OperationId>
  extends Pick<OperationRequest<Id>, 'account' | 'query' | 'origin'> {
  /** The job that loads the file; undefined for a request. */
  job?: number | undefined
}

/** How an operation takes rows from CSV or NDJSON of any length. */
export type Feed<Id extends OperationId> = (
  trx: Trx,
  request: FeedRequest<Id>,
  context: Context,
  // biome-ignore lint/suspicious/noExplicitAny: each feed has its own rows.
) => Promise<OpenFeed<any, any>>
