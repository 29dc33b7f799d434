import { columnEntries } from '../catalog/column-value.ts'
import type { Columns } from '../catalog/columns.ts'
import { extensionKey, type KeyedRow } from '../catalog/row-key.ts'
import type { RequestError } from '../contract/problem.ts'
import { invalidRequest, type RowErrors } from '../contract/row-errors.ts'
import type { InputColumn } from '../database/input-rows.ts'
import { isInCalendar, lastCalendarDay } from '../price-lists/calendar.ts'
import type { ListName, PriceList } from '../price-lists/queries.ts'

/** How a request names its list: by one key or both. */
export interface ListKeys {
  price_list_name?: string
  price_list_id?: number
}

/** The place of an error about one of the keys. */
export type PlaceOf = (name: keyof ListKeys) => Pick<RequestError, 'pointer' | 'field'>

const placeInBody: PlaceOf = (name) => ({ pointer: `/${name}`, field: name })

/** Finds the list of a request. Throws `invalid-request` if both keys are missing or name different lists. */
export async function findNamedList(
  { price_list_name: name, price_list_id: id }: ListKeys,
  find: (by: ListName) => Promise<PriceList>,
  placeOf = placeInBody,
): Promise<PriceList> {
  if (id === undefined && name === undefined) {
    const message = 'price_list_name or price_list_id is required'
    throw invalidRequest([{ ...placeOf('price_list_name'), code: 'required', message }])
  }
  const list = await find(id === undefined ? { name: name ?? '' } : { id })
  if (name !== undefined && name !== list.name) {
    const message = 'price_list_name and price_list_id must mean the same list'
    throw invalidRequest([{ ...placeOf('price_list_id'), code: 'conflicting_keys', message }])
  }
  return list
}

/**
 * Reads the list's name from `price_list_name` or `name`. Throws `invalid-request` if both are missing or they differ.
 */
export function readListName(body: { price_list_name?: string; name?: string }): ListName {
  const { price_list_name = body.name, name = price_list_name } = body
  if (price_list_name === undefined) {
    const field = 'price_list_name'
    throw invalidRequest([
      { pointer: `/${field}`, field, code: 'required', message: 'is required' },
    ])
  }
  if (price_list_name !== name) {
    const message = 'price_list_name and name must say the same'
    throw invalidRequest([{ pointer: '/name', field: 'name', code: 'conflicting_keys', message }])
  }
  return { name: price_list_name }
}

/** A stored cell or row of a list. */
export interface StoredCell {
  code: string
  extensions: string[]
  /** From 1; null for a row. */
  dimension: number | null
  date: string | null
}

/** The place of an error about a cell that no row of the request names. */
export function placeOfCell(
  list: PriceList,
  { extensions: columns }: Columns,
  { code, extensions, dimension, date }: StoredCell,
): Pick<RequestError, 'pointer' | 'cell'> {
  const cell = {
    code,
    ...Object.fromEntries(columnEntries(columns, extensions)),
    ...(dimension !== null && { price_dimension: list.price_dimensions[dimension - 1] }),
    ...(date !== null && { date }),
  }
  return { pointer: '', cell }
}

/** The keys of a row that select one of its product's prices. */
interface PriceAddress {
  price_dimension?: string
  date?: string
}

/** Reports a `price_dimension` or `date` that does not fit the list. */
export function rejectFaultyAddress(
  list: PriceList,
  row: PriceAddress,
  position: number,
  errors: RowErrors,
): void {
  const { price_dimension, date } = row
  if (price_dimension === undefined && list.price_dimensions.length > 1) {
    const message = `is required: ${dimensionsOf(list)}`
    errors.add(position, 'price_dimension', 'required', message)
  }
  if (price_dimension !== undefined && !list.price_dimensions.includes(price_dimension)) {
    const message = `must be one of ${dimensionsOf(list)}`
    errors.add(position, 'price_dimension', 'unknown_price_dimension', message)
  }
  if (date === undefined && list.is_calendar)
    errors.add(position, 'date', 'required', 'is required for a calendar list')
  if (date !== undefined && !list.is_calendar)
    errors.add(position, 'date', 'not_allowed', 'only a calendar list has dates')
  if (date !== undefined && list.is_calendar && !isInCalendar(date, list.valid_from)) {
    const message = `must be from ${list.valid_from} to ${lastCalendarDay(list.valid_from)}`
    errors.add(position, 'date', 'date_outside_calendar', message)
  }
}

const namedMax = 20
const namedDimensions = new WeakMap<PriceList, string>()

/** The dimensions as text for a message, built once for all faulty rows, which may be 100,000. */
function dimensionsOf(list: PriceList): string {
  const { price_dimensions: all } = list
  const more = all.length > namedMax ? ` and ${all.length - namedMax} more` : ''
  const named = namedDimensions.get(list) ?? `${all.slice(0, namedMax).join(', ')}${more}`
  namedDimensions.set(list, named)
  return named
}

/** The index of a row's price dimension, from 1 as in SQL. A row may omit the list's only dimension. */
export function dimensionIndex(list: PriceList, row: PriceAddress): number {
  return row.price_dimension === undefined
    ? 1
    : list.price_dimensions.indexOf(row.price_dimension) + 1
}

type Key = Pick<KeyedRow<unknown>, 'code' | 'extensions'>

/** Input columns with the key of the product. */
export const keyColumns: InputColumn<Key>[] = [
  { name: 'code', type: 'text', value: ({ code }) => code },
  { name: 'extension_key', type: 'text', value: ({ extensions }) => extensionKey(extensions) },
]

/** `keyColumns` with the row's position in the payload. */
export const positionedKeyColumns: InputColumn<Key & { position: number }>[] = [
  { name: 'position', type: 'integer', value: ({ position }) => position },
  ...keyColumns,
]
