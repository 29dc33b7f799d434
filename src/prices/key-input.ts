import { extensionKey, type KeyedRow } from '../catalog/row-key.ts'
import type { InputColumn } from '../database/input-rows.ts'

type Key = Pick<KeyedRow<unknown>, 'position' | 'code' | 'extensions'>

/** The columns of an input that say which product each row means. */
export const keyColumns: InputColumn<Key>[] = [
  { name: 'position', type: 'integer', value: ({ position }) => position },
  { name: 'code', type: 'text', value: ({ code }) => code },
  { name: 'extension_key', type: 'text', value: ({ extensions }) => extensionKey(extensions) },
]
