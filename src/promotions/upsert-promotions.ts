import { sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { type ProductFilters, rejectFaultyFilters } from '../catalog/product-filters.ts'
import { uniqueRows } from '../contract/duplicates.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import type { Trx } from '../database/pool.ts'
import { findPriceListNames } from './queries.ts'

type Input = Schemas['PromotionInput']

/** Creates promotions or replaces them whole, by name. Answers the ids of both, each in payload order. */
export const upsertPromotions: Handler<'upsertPromotions'> = ({
  account,
  body,
  errors,
  inAccount,
}) =>
  inAccount(async (trx) => {
    const columns = await findColumns(trx, account)
    const sound = errors.sound(body)
    const listNames = new Set(sound.flatMap(({ row }) => row.price_lists ?? []))
    const lists = await findPriceListNames(trx, account, [...listNames])
    for (const { row, position } of sound) {
      rejectFaultyTerms(row, position, errors)
      rejectUnknownLists(row, position, lists, errors)
      rejectFaultyFilters(filtersOf(row) ?? {}, columns, position, errors)
    }
    const promotions = uniqueRows(errors.sound(body), errors, ({ name }) => name)
    errors.reject()
    const rows = promotions.map(({ row }) => row)
    const upserted = await upsertPromotionRows(trx, account, rows)
    const inPayloadOrder = promotions
      .map(({ position, row }) => ({ position, ...(upserted.get(row.name) as Upserted) }))
      .sort((a, b) => a.position - b.position)
    return {
      created: inPayloadOrder.filter(({ created }) => created).map(({ id }) => id),
      updated: inPayloadOrder.filter(({ created }) => !created).map(({ id }) => id),
    }
  })

function filtersOf({ product_filters }: Input): ProductFilters | undefined {
  return product_filters as ProductFilters | undefined
}

function rejectFaultyTerms(promotion: Input, position: number, errors: RowErrors): void {
  if (promotion.kind === 'percentage' && promotion.value > 100)
    errors.add(position, 'value', 'range', 'must be <= 100 for a percentage')
  if (promotion.valid_to < promotion.valid_from)
    errors.add(position, 'valid_to', 'range', 'must not be before valid_from')
}

function rejectUnknownLists(
  { price_lists }: Input,
  position: number,
  lists: ReadonlySet<string>,
  errors: RowErrors,
): void {
  for (const [index, name] of (price_lists ?? []).entries()) {
    if (!lists.has(name))
      errors.add(
        position,
        `price_lists/${index}`,
        'unknown_price_list',
        'there is no such price list',
      )
  }
}

interface Upserted {
  name: string
  id: number
  created: boolean
}

/** Upserts promotions that are sorted by name, in one statement; answers each by its name. */
async function upsertPromotionRows(
  trx: Trx,
  account: number,
  promotions: Input[],
): Promise<Map<string, Upserted>> {
  const names = (list: string[] | undefined) => (list ? arrayLiteral(list) : null)
  const input = [
    sql`${promotions.map(({ name }) => name)}::text[]`,
    sql`${promotions.map(({ kind }) => kind)}::text[]`,
    sql`${promotions.map(({ value }) => value)}::numeric[]`,
    sql`${promotions.map(({ valid_from }) => valid_from)}::date[]`,
    sql`${promotions.map(({ valid_to }) => valid_to)}::date[]`,
    sql`${promotions.map(({ price_lists }) => names(price_lists))}::text[]`,
    sql`${promotions.map((row) => JSON.stringify(filtersOf(row)) ?? null)}::text[]`,
    sql`${promotions.map(({ price_dimensions }) => names(price_dimensions))}::text[]`,
  ]
  const { rows } = await sql<Upserted>`
    insert into promotions as present
      (account_id, name, kind, value, valid_from, valid_to, price_lists, product_filters, price_dimensions)
    select ${account}, name, kind, value, valid_from, valid_to, price_lists::text[], product_filters::jsonb,
      price_dimensions::text[]
    from unnest(${sql.join(input)})
      as input (name, kind, value, valid_from, valid_to, price_lists, product_filters, price_dimensions)
    order by name collate "C"
    on conflict (account_id, name) do update set
      (kind, value, valid_from, valid_to, price_lists, product_filters, price_dimensions) =
      (excluded.kind, excluded.value, excluded.valid_from, excluded.valid_to, excluded.price_lists,
        excluded.product_filters, excluded.price_dimensions)
    returning name, id, xmax = 0 as created`.execute(trx)
  return new Map(rows.map((row) => [row.name, row]))
}
