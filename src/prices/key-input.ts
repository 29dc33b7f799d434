import { type RawBuilder, sql } from 'kysely'
import type { KeyedRow } from '../catalog/row-key.ts'
import type { InputColumn } from '../database/input-rows.ts'

type Key = Pick<KeyedRow<unknown>, 'position' | 'code' | 'extensions'>

/** The columns of an input that say which product each row means: `position`, `code`, and one for each extension. */
export function keyColumns(extensions: number): InputColumn<Key>[] {
  return [
    { name: 'position', type: 'integer', value: ({ position }) => position },
    { name: 'code', type: 'text', value: ({ code }) => code },
    ...Array.from({ length: extensions }, (_, index) => ({
      name: extensionName(index),
      type: 'text',
      value: (row: Key) => row.extensions[index] ?? null,
    })),
  ]
}

/** The extensions of such an `input`, as the tables keep them. */
export function inputExtensions(extensions: number): RawBuilder<string[]> {
  const names = Array.from({ length: extensions }, (_, index) =>
    sql.ref(`input.${extensionName(index)}`),
  )
  return sql`array[${sql.join(names)}]::text[]`
}

const extensionName = (index: number) => `extension_${index}`
