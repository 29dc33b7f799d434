import type { Compilable, RawBuilder } from 'kysely'
import type { operations } from '../../generated/openapi.d.ts'
import type { Trx } from '../database/pool.ts'
import type { OperationId, OperationRequest } from './operation.ts'

/** Everything that matches, to be written row by row. */
export interface OpenExport<Stored = unknown> {
  /** Keys in the order of the columns of a CSV file. */
  columns: readonly string[]
  /** The column that holds any JSON value, if there is one. */
  valueColumn?: string
  /** What is read, in a stable order. */
  query: RawBuilder<Stored> | Compilable<Stored>
  /** The rows of the file for what was read; absent values are left out. */
  rowsOf: (stored: Stored) => object[]
}

/** How an operation answers everything that matches as a file: CSV or NDJSON of any length. */
export type Export<Id extends OperationId> = (
  trx: Trx,
  request: Pick<OperationRequest<Id>, 'account' | 'params' | 'query'>,
  // biome-ignore lint/suspicious/noExplicitAny: what is stored is each export's own affair.
) => Promise<OpenExport<any>>

/** Reads that answer files. */
export type ExportOperation = {
  [Id in OperationId]: operations[Id] extends {
    requestBody?: never
    responses: { 200: { content: { 'text/csv': string } } }
  }
    ? Id
    : never
}[OperationId]
