import { type RawBuilder, sql } from 'kysely'

/** SQL that is true if any of the values contains the text, ignoring case. */
export function containsText(
  values: readonly RawBuilder<unknown>[],
  text: string,
): RawBuilder<boolean> {
  const sought = sql`${text}::text`
  return sql<boolean>`(${sql.join(
    values.map((value) => contains(value, sought)),
    sql` or `,
  )})`
}

/** Nearly all texts are ASCII, which "C" folds in a tenth of the time. */
function contains(value: RawBuilder<unknown>, sought: RawBuilder<unknown>): RawBuilder<boolean> {
  const lower = (text: RawBuilder<unknown>) => sql`lower(${text} collate "C")`
  const isLong = (text: RawBuilder<unknown>) => sql`octet_length(${text}) > length(${text})`
  return sql`(strpos(${lower(value)}, ${lower(sought)}) > 0
    or (${isLong(value)} or ${isLong(sought)}) and strpos(${upper(value)}, ${upper(sought)}) > 0)`
}

/**
 * In upper case the Greek sigma has one form. ASCII is folded in "C", because Turkish maps I to another i; other
 * letters are folded in the database's collation, because "C" leaves them alone.
 */
function upper(value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`upper(lower(lower(${value} collate "C") collate "default"))`
}
