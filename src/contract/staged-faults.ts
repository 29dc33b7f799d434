import type { ErrorCode } from './row-errors.ts'

/** A fault that shows once all rows are staged. */
export interface StagedFault {
  position: number
  line: number
  /** As in a JSON Pointer; '' is the row itself. */
  field: string
  code: ErrorCode
  message: string
}

/** The first faults in the order of the file, at most `stagedFaultsMax`, and the number of all. */
export interface StagedFaults {
  first: StagedFault[]
  count: number
}

/** As many as an answer gives back: a file for the wrong list may have millions. */
export const stagedFaultsMax = 10_000

/** Makes faults of the rows of a statement; each row has the `total` of them. */
export function stagedFaults<Row extends { position: number; line: number; total: number }>(
  rows: readonly Row[],
  faultOf: (row: Row) => Pick<StagedFault, 'field' | 'code' | 'message'>,
): StagedFaults {
  const first = rows.map((row) => ({ position: row.position, line: row.line, ...faultOf(row) }))
  return { first, count: rows[0]?.total ?? 0 }
}

/** Merges faults in the order of the file. */
export function bothFaults(one: StagedFaults, other: StagedFaults): StagedFaults {
  const first = [...one.first, ...other.first].sort((a, b) => a.position - b.position)
  return { first: first.slice(0, stagedFaultsMax), count: one.count + other.count }
}
