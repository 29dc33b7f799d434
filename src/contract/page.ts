/** Query parameters of every list operation. */
export interface PageQuery {
  offset?: number
  limit?: number
}

/** Offset and limit with the contract's defaults. */
export function pageOf({ offset = 0, limit = 25 }: PageQuery): Required<PageQuery> {
  return { offset, limit }
}

/** The object without the keys that have no value: an absent value is a left-out key on the wire. */
export function withoutAbsent<T extends object>(row: T): { [K in keyof T]: Exclude<T[K], null> } {
  return Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== null && value !== undefined),
  ) as {
    [K in keyof T]: Exclude<T[K], null>
  }
}
