import type { Schemas } from '../contract/operation.ts'
import type { RequestError } from '../contract/problem.ts'
import { type ErrorCode, invalidRequest } from '../contract/row-errors.ts'
import { findValueFault } from './column-value.ts'
import { type Column, type Columns, type ColumnValue, columnLetter } from './columns.ts'
import { reservedNames } from './reserved-names.ts'

type Declared = Omit<Column, 'letter' | 'ordinal'>

/** The columns of a request in the order attributes, extensions, costs. Throws `invalid-request` with all faults. */
export function readDeclaration(input: Schemas['CatalogSchemaInput']): Declared[] {
  const faults: RequestError[] = []
  const seen = new Set<string>()
  const read = (
    kind: Column['kind'],
    group: string,
    columns: readonly Partial<Schemas['ColumnInput']>[],
  ): Declared[] =>
    columns.map(({ name = '', type = 'number', values }, index) => {
      const add = (field: string, code: ErrorCode, message: string) =>
        faults.push({ pointer: `/${group}/${index}/${field}`, field, code, message })
      if (reservedNames.has(name))
        add('name', 'not_allowed', `"${name}" is a key of this interface`)
      if (seen.has(name)) add('name', 'duplicate_row', `there is another column called "${name}"`)
      seen.add(name)
      const column = { name, kind, type, allowed_values: null, ordinal: 0, letter: '' }
      for (const [position, value] of (values ?? []).entries()) {
        const fault = findValueFault(column, value)
        if (fault) add(`values/${position}`, fault.code, fault.message)
      }
      return { name, kind, type, allowed_values: (values as ColumnValue[] | undefined) ?? null }
    })
  const declared = [
    ...read('attribute', 'attributes', input.attributes ?? []),
    ...read('extension', 'extensions', input.extensions ?? []),
    ...read('cost', 'costs', input.costs ?? []),
  ]
  if (faults.length > 0) throw invalidRequest(faults)
  return declared
}

/**
 * The columns after a declaration: those that are there keep their letters and new ones get the letters after the last;
 * undefined when a column is changed, moved or missing, so that nothing of the present schema can stay.
 */
export function appendColumns(present: Columns, declared: Declared[]): Column[] | undefined {
  const kept = new Map(present.all.map((column) => [column.name, column]))
  const ordinals = { attribute: 0, extension: 0, cost: 0 }
  const result: Column[] = []
  let position = present.all.length
  for (const column of declared) {
    const ordinal = ++ordinals[column.kind]
    const known = kept.get(column.name)
    if (known && !isSame(known, column, ordinal)) return undefined
    if (!known && ordinal <= countOf(present, column.kind)) return undefined
    result.push(known ?? { ...column, ordinal, letter: columnLetter(++position) })
    kept.delete(column.name)
  }
  return kept.size === 0 ? result : undefined
}

/** The columns of a schema that starts anew: B, C, ... in the order of their declaration. */
export function newColumns(declared: Declared[]): Column[] {
  return appendColumns({ all: [], attributes: [], extensions: [], costs: [] }, declared) ?? []
}

function isSame(known: Column, column: Declared, ordinal: number): boolean {
  const values = JSON.stringify(known.allowed_values) === JSON.stringify(column.allowed_values)
  return (
    known.kind === column.kind && known.type === column.type && known.ordinal === ordinal && values
  )
}

function countOf(present: Columns, kind: Column['kind']): number {
  return present.all.filter((column) => column.kind === kind).length
}
