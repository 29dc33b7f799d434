import type { Compilable, RawBuilder } from 'kysely'
import type { operations } from '../../generated/openapi.d.ts'
import type { Trx } from '../database/pool.ts'
import type { Context, OperationId, OperationRequest } from './operation.ts'

/** An export in its transaction. */
export interface OpenExport<Stored = unknown> {
  /** Response headers. */
  headers?: Readonly<Record<string, string>>
  /** Keys in the order of CSV columns; `a.b` is the key `b` of the object `a`. */
  columns: readonly string[]
  /** The column that may hold any JSON value, if there is one. */
  valueColumn?: string
  /** Selects the stored rows, in a stable order. */
  query: RawBuilder<Stored> | Compilable<Stored>
  /** Completes stored rows that were read together. */
  complete?: (stored: Stored[]) => Promise<Stored[]>
  /** The rows of the file for a stored row; absent values are left out. */
  rowsOf: (stored: Stored) => object[]
}

/** How an operation returns all matching rows as CSV or NDJSON of any length. */
export type Export<Id extends OperationId> = (
  trx: Trx,
  request: Pick<OperationRequest<Id>, 'account' | 'params' | 'query'>,
  context: Context,
  // biome-ignore lint/suspicious/noExplicitAny: each export has its own stored rows.
) => Promise<OpenExport<any>>

/** Operations that return files. */
export type ExportOperation = {
  [Id in OperationId]: operations[Id] extends {
    requestBody?: never
    responses: { 200: { content: { 'text/csv': string } } }
  }
    ? Id
    : never
}[OperationId]
