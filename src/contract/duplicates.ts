import { isDeepStrictEqual } from 'node:util'
import { mapCooperatively, sortCooperatively } from '../lib/cooperative.ts'
import { type RowErrors, sentences } from './row-errors.ts'

/** A row of the payload and its index. */
export interface Positioned<T> {
  row: T
  position: number
}

/** The rows of a payload by key. `keyOf` must distinguish what the key of the table distinguishes. */
export class RowsByKey<T> {
  readonly #keyOf: (row: T) => string
  readonly #first = new Map<string, Positioned<T>>()

  constructor(keyOf: (row: T) => string) {
    this.#keyOf = keyOf
  }

  /**
   * Adds rows and returns those with a new key. Equal rows count once. Rows that share a key but differ get an error
   * with both indexes, unless they have errors already.
   */
  async addNew(rows: readonly Positioned<T>[], errors: RowErrors): Promise<Positioned<T>[]> {
    const added: Positioned<T>[] = []
    await mapCooperatively(rows, (candidate) => {
      const key = this.#keyOf(candidate.row)
      const earlier = this.#first.get(key)
      if (!earlier) {
        this.#first.set(key, candidate)
        added.push(candidate)
      } else if (
        !errors.has(candidate.position) &&
        !isDeepStrictEqual(earlier.row, candidate.row)
      ) {
        const message = sentences.sameKey(`rows ${earlier.position} and ${candidate.position}`)
        errors.add(candidate.position, undefined, 'duplicate_row', message)
      }
    })
    return added
  }

  /** The keys in payload order. */
  keys(): string[] {
    return [...this.#first.keys()]
  }

  /** The position of the first row with the key; -1 if there is none. */
  positionOf(key: string): number {
    return this.#first.get(key)?.position ?? -1
  }

  /** The rows sorted by key, so that concurrent batches cannot deadlock. */
  async sorted(): Promise<Positioned<T>[]> {
    const keys = await sortCooperatively([...this.#first.keys()])
    return mapCooperatively(keys, (key) => this.#first.get(key) as Positioned<T>)
  }
}

/** The rows with each key once, sorted by key. */
export async function uniqueRows<T>(
  rows: readonly Positioned<T>[],
  errors: RowErrors,
  keyOf: (row: T) => string,
): Promise<Positioned<T>[]> {
  const byKey = new RowsByKey(keyOf)
  await byKey.addNew(rows, errors)
  return byKey.sorted()
}

/** Returns the keys of a deletion. A repeated key is an error. Throws `invalid-request` if any row has errors. */
export async function distinctKeys<Key extends string | number>(
  keys: readonly Key[],
  errors: RowErrors,
): Promise<Key[]> {
  const first = new Map<Key, number>()
  await mapCooperatively(errors.sound(keys), ({ row: key, position }) => {
    const earlier = first.get(key)
    if (earlier === undefined) first.set(key, position)
    else
      errors.add(
        position,
        undefined,
        'duplicate_row',
        `rows ${earlier} and ${position} are the same key`,
      )
  })
  errors.reject()
  return [...first.keys()]
}

/** Returns the ids of rows in the payload order of their keys. In each part, `ids` and `keys` correspond. */
export async function idsInPayloadOrder(
  parts: readonly { keys: readonly string[]; ids: readonly number[] }[],
  payload: { positionOf: (key: string) => number },
): Promise<number[]> {
  const ids = parts.flatMap((part) => part.ids)
  const keys = parts.flatMap((part) => part.keys)
  const positions = await mapCooperatively(keys, (key) => payload.positionOf(key))
  // Allocated in full: an array filled in random order would become a hash map.
  const length = positions.reduce((most, position) => Math.max(most, position + 1), 0)
  const ordered = new Array<number>(length)
  for (const [index, position] of positions.entries()) ordered[position] = ids[index] as number
  return ordered.filter(() => true)
}
