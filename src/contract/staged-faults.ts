import type { ErrorCode } from './row-errors.ts'

/** A row that is refused once all rows are there. */
export interface StagedFault {
  position: number
  line: number
  /** As in a JSON Pointer; '' is the row itself. */
  field: string
  code: ErrorCode
  message: string
}

/** The first faults in the order of the file, at most `stagedFaultsMax`, and how many there are. */
export interface StagedFaults {
  first: StagedFault[]
  count: number
}

/** As many as a refused file gives back; a file for the wrong list would bring millions of rows into memory. */
export const stagedFaultsMax = 10_000

/** The faults that rows of a statement tell of: each carries the `total` of them, and names itself by `faultOf`. */
export function stagedFaults<Row extends { position: number; line: number; total: number }>(
  rows: readonly Row[],
  faultOf: (row: Row) => Pick<StagedFault, 'field' | 'code' | 'message'>,
): StagedFaults {
  const first = rows.map((row) => ({ position: row.position, line: row.line, ...faultOf(row) }))
  return { first, count: rows[0]?.total ?? 0 }
}

/** Faults of two kinds, in the order of the file. */
export function bothFaults(one: StagedFaults, other: StagedFaults): StagedFaults {
  const first = [...one.first, ...other.first].sort((a, b) => a.position - b.position)
  return { first: first.slice(0, stagedFaultsMax), count: one.count + other.count }
}
