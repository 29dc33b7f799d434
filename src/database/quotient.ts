import { type RawBuilder, sql } from 'kysely'

/**
 * SQL of `n / d` (numeric), rounded half up to 6 decimals; null if `d` is 0 or either is missing. Rounded once:
 * PostgreSQL rounds the result of a division to about 16 digits.
 */
export function quotient(
  n: RawBuilder<unknown>,
  d: RawBuilder<unknown>,
): RawBuilder<number | null> {
  const divisor = sql`(2 * nullif(abs((${d})::numeric), 0))`
  const dividend = sql`(2000000 * (${n}) * sign((${d})::numeric) + abs((${d})::numeric))`
  // `div` truncates, which is one too much for a negative dividend.
  return sql`((div(${dividend}, ${divisor}) - (mod(${dividend}, ${divisor}) < 0)::integer) * 0.000001)`
}
