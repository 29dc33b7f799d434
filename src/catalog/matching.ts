import type { Column, Columns } from './columns.ts'

/** A row that filters, promotions, agreements and competitor prices match: canonical texts by ordinal. */
export interface MatchedRow {
  code: string
  extensions: readonly string[]
  /** Read only if an attribute is matched; null for a code without attributes. */
  attributes?: readonly (string | null)[] | null
}

/** A column that rows can be matched by: `code`, an attribute or an extension. */
export type MatchColumn = Pick<Column, 'name' | 'type' | 'allowed_values' | 'ordinal'> & {
  kind: 'code' | 'attribute' | 'extension'
}

const code: MatchColumn = {
  name: 'code',
  kind: 'code',
  type: 'string',
  allowed_values: null,
  ordinal: 0,
}

/** The columns that rows can be matched by, by name. */
export function matchColumns({ attributes, extensions }: Columns): Map<string, MatchColumn> {
  const columns = [code, ...(attributes as MatchColumn[]), ...(extensions as MatchColumn[])]
  return new Map(columns.map((column) => [column.name, column]))
}

/** Reads the text of a column in a row; null or undefined if the row has none. */
export type TextReader = (row: MatchedRow) => string | null | undefined

/** Returns a function that reads a column. */
export function textReader({ kind, ordinal }: Pick<MatchColumn, 'kind' | 'ordinal'>): TextReader {
  if (kind === 'code') return ({ code }) => code
  if (kind === 'attribute') return ({ attributes }) => attributes?.[ordinal - 1]
  return ({ extensions }) => extensions[ordinal - 1]
}
