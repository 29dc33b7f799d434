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

/** A column that rows may have in addition to the contract's keys. */
export interface FeedColumn {
  name: string
  type: CellType
  /** Whether a row without it is refused. */
  isRequired: boolean
}

/** An id or hash that exports have in addition to a row's key. Staged as the column `given_<name>`. */
export interface FeedId {
  name: string
  type: 'bigint' | 'text'
  /** Names of the key's parts, in the order of the arrays of `changed`. */
  parts: readonly string[]
  /**
   * A SELECT that returns a row if the key of the staged row `f` is not the id's key: as text arrays, the parts of the
   * former key (`was`, null if unknown) and of the row's key (`says`).
   */
  changed: RawBuilder<unknown>
}

/** The outcome of a feed: its result, and the new revision of the price list if it changed one. */
export interface FeedDone {
  result: Schemas['FeedResult']
  revision?: number | undefined
}

/** The result of a feed without the number of rows, and the revision that it made. */
export type FeedCounts = Omit<Schemas['FeedResult'], 'rows'> & { revision?: number }

/**
 * A feed in its transaction: the shape of its rows, how they are staged, and how they are written. Nothing is locked
 * before `findFaults`, because a client may take long to send its rows.
 */
export interface OpenFeed<Row = unknown, Stored = unknown> {
  columns: readonly FeedColumn[]
  /** Keys that only responses have, ignored so that exports can be loaded. */
  ignored: readonly string[]
  /** Keys of responses that must belong to the row's key. The first that does not is reported. */
  ids: readonly FeedId[]
  /** Whether a row sets nothing and is therefore left out unchecked. */
  isSkipped?: (row: unknown) => boolean
  /** Makes rows to stage from rows that match the contract; adds errors for the others. */
  read: (rows: readonly Row[], errors: RowErrors) => Promise<Positioned<Stored>[]>
  input: InputColumn<Stored>[]
  /** Columns of `input` that identify a row; rows are written in their order. */
  key: readonly string[]
  /** The table, if other writers of its rows may lock them in another order. */
  table?: UpsertedTable
  /** Locks the columns by which rows are read, before any row is written. Returns whether the columns are unchanged. */
  hold?: () => Promise<boolean>
  /**
   * Finds the rows that contradict each other or what is stored, except rows that share a key but differ. Called when
   * all rows are staged, including repeated ones; may lock what it compares them with. `once` is a FROM item without an
   * alias that has each key once.
   */
  findFaults?: (once: RawBuilder<unknown>) => Promise<StagedFaults>
  /** Writes all rows in a few statements, or returns a plan or job that will. May run again after a deadlock. */
  write: (staged: StagedRows) => Promise<FeedCounts | Answer<Schemas['JobInfo'] | Schemas['Plan']>>
}

/** A feed that upserts rows by their keys, so that those of a JSON body can be written while the next are read. */
export interface OpenUpsert<Row = unknown, Stored = unknown, Written = unknown, Answered = unknown>
  extends OpenFeed<Row, Stored> {
  table: UpsertedTable
  /** The key of a row, as text. */
  keyOf: (row: Stored) => string
  /** Adds errors for rows that contradict earlier ones, except rows that share a key but differ. */
  compare?: (rows: readonly Positioned<Stored>[], errors: RowErrors) => Promise<void>
  /** Upserts rows; each key occurs once. */
  upsert: (input: InsertRows, rows: readonly Stored[]) => Promise<Written>
  /** Makes the response to a JSON body from the results of its upserts. */
  answer: (
    written: Written[],
    payload: Pick<RowsByKey<Stored>, 'keys' | 'positionOf'>,
  ) => Answered | Promise<Answered>
}

/** How an operation upserts the rows of a body or a file. */
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
