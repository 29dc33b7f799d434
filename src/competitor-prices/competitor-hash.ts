import { hash } from 'node:crypto'
import type { ColumnValue } from '../catalog/columns.ts'

/** The hash that names an entry: `values` are those of the schema's columns in its order, cast to their types. */
export function competitorHash(
  values: readonly ColumnValue[],
  competitorName: string,
  departureDate: string | null,
): string {
  return hash('sha256', JSON.stringify([...values, competitorName, departureDate]), 'hex')
}
