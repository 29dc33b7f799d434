import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { changeSettingsVersion } from '../accounts/queries.ts'
import { type Columns, defaultMarginFormula, keepColumns } from '../catalog/columns.ts'
import { rejectOutdated } from '../contract/if-match.ts'
import { mergePatch } from '../contract/merge-patch.ts'
import { Answer, type Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { onFreeList, rejectBusy } from '../jobs/list-order.ts'
import { type CheckedSettings, rejectFaultySettings } from './list-settings.ts'
import { lockPriceList, type PriceList, rejectUnmanaged } from './queries.ts'
import { etagOf, priceListOf } from './read-price-list.ts'

/**
 * Merges a patch into a list's settings. Returns the list with its new ETag. A change of the filters waits for the
 * list's jobs: a sync reads them again for each chunk.
 */
export const updatePriceList = onFreeList<'updatePriceList'>(
  async (trx, { account, params, body, ifMatch }) => {
    const columns = await keepColumns(trx, account)
    const present = await lockPriceList(trx, account, { id: params.id })
    rejectUnmanaged(present)
    rejectOutdated(ifMatch, etagOf(present))
    const settings = merge(present, body, columns)
    rejectFaulty(checkedOf(present, settings, body), columns)
    rejectFewerDecimals(present, settings)
    if (!isDeepStrictEqual(settings.product_filters, present.product_filters))
      await rejectBusy(trx, account, present.id)
    const list = (await writeSettings(trx, present, settings)) ?? present
    return new Answer(priceListOf(list), { etag: etagOf(list) })
  },
)

const names = [
  'description',
  'valid_to',
  'margin_formula',
  'product_filters',
  'currency',
  'decimals',
  'hide_unpriced',
  'guardrails',
] as const

type Settings = Pick<PriceList, (typeof names)[number]>

/** The settings of a list after a patch; removed ones get their defaults. */
function merge(list: PriceList, patch: Schemas['PriceListPatch'], { costs }: Columns): Settings {
  const present = Object.fromEntries(names.map((name) => [name, list[name]]))
  return {
    description: null,
    margin_formula: defaultMarginFormula(costs),
    product_filters: {},
    currency: null,
    decimals: 6,
    hide_unpriced: false,
    guardrails: {},
    ...(mergePatch(present, patch) as Pick<Settings, 'valid_to'>),
  }
}

/** The settings to check: a formula or filters that stay may name columns that no longer exist. */
function checkedOf(
  { valid_from }: PriceList,
  { valid_to, guardrails, product_filters }: Settings,
  patch: Schemas['PriceListPatch'],
): CheckedSettings {
  return {
    valid_from,
    valid_to,
    guardrails: guardrails as CheckedSettings['guardrails'],
    product_filters: patch.product_filters
      ? (product_filters as CheckedSettings['product_filters'])
      : {},
    ...(typeof patch.margin_formula === 'string' && { margin_formula: patch.margin_formula }),
  }
}

/** Throws `invalid-request` with the faults of the merged settings. */
function rejectFaulty(settings: CheckedSettings, columns: Columns): void {
  const errors = new RowErrors('')
  rejectFaultySettings(settings, 0, columns, errors)
  errors.rejectBody()
}

/** Throws `decimals-in-use`: existing prices may have as many decimals as the list allows now. */
function rejectFewerDecimals(present: PriceList, { decimals }: Settings): void {
  if (decimals >= present.decimals) return
  const detail = `Prices of the list may have ${present.decimals} decimals; their number can only grow.`
  throw new Problem('decimals-in-use', detail)
}

/** Writes changed settings, so that all processes drop what they have cached. Undefined if nothing changed. */
async function writeSettings(
  trx: Trx,
  { account_id, id }: PriceList,
  settings: Settings,
): Promise<PriceList | undefined> {
  const columns = sql.join(names.map((name) => sql.ref(name)))
  const { description, valid_to, margin_formula, currency, decimals, hide_unpriced } = settings
  const values = sql`${description}::text, ${valid_to}::date, ${margin_formula}::text,
    ${JSON.stringify(settings.product_filters)}::jsonb, ${currency}::text, ${decimals}::smallint,
    ${hide_unpriced}::boolean, ${JSON.stringify(settings.guardrails)}::jsonb`
  const { rows } = await sql<PriceList>`
    update price_lists set (${columns}) = row (${values})
    where account_id = ${account_id} and id = ${id} and (${columns}) is distinct from (${values})
    returning *`.execute(trx)
  if (rows[0]) await changeSettingsVersion(trx, account_id)
  return rows[0]
}
