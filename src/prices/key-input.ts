import { extensionKey, type KeyedRow } from '../catalog/row-key.ts'
import type { InputColumn } from '../database/input-rows.ts'

type Key = Pick<KeyedRow<unknown>, 'code' | 'extensions'>

/** The columns of an input that say which product each row means. */
export const keyColumns: InputColumn<Key>[] = [
  { name: 'code', type: 'text', value: ({ code }) => code },
  { name: 'extension_key', type: 'text', value: ({ extensions }) => extensionKey(extensions) },
]

/** With the place of each row in its payload. */
export const positionedKeyColumns: InputColumn<Key & { position: number }>[] = [
  { name: 'position', type: 'integer', value: ({ position }) => position },
  ...keyColumns,
]
