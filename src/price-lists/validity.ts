import type { Schemas } from '../contract/operation.ts'
import { today } from './calendar.ts'
import type { PriceList } from './queries.ts'

type Validity = Pick<PriceList, 'valid_from' | 'valid_to'>

/** Where the current UTC day lies in the validity of a list. */
export function stateOf({ valid_from, valid_to }: Validity): Schemas['PriceListState'] {
  const day = today()
  if (day < valid_from) return 'future'
  return day > valid_to ? 'expired' : 'current'
}

/** Whether a list is valid on a day; the first and last day count. */
export const isValidOn = ({ valid_from, valid_to }: Validity, day: string): boolean =>
  day >= valid_from && day <= valid_to
