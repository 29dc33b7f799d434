import { exportAgreements } from '../agreements/list-agreements.ts'
import { upsertAgreements } from '../agreements/upsert-agreements.ts'
import { exportProducts } from '../catalog/list-products.ts'
import { upsertProducts } from '../catalog/upsert-products.ts'
import { exportCompetitorPrices } from '../competitor-prices/list-competitor-prices.ts'
import { upsertCompetitorPrices } from '../competitor-prices/upsert-competitor-prices.ts'
import type { Operation } from '../contract/document.ts'
import type { Export, ExportOperation } from '../contract/export.ts'
import type { Feed, FeedOperation } from '../contract/feed.ts'
import type { OperationId } from '../contract/operation.ts'
import { exportPlanRows } from '../plans/list-plan-rows.ts'
import { exportPriceListRows } from '../price-lists/export-price-list-rows.ts'
import { exportDiff } from '../price-lists/history/diff-price-list.ts'
import { exportRevisions } from '../price-lists/history/list-revisions.ts'
import { feedAddedProducts } from '../prices/feeds/add-products.ts'
import { feedRemovedProducts } from '../prices/feeds/remove-products.ts'
import { feedDynamicAttributes } from '../prices/feeds/update-dynamic-attributes.ts'
import { feedPrices } from '../prices/feeds/update-prices.ts'
import { exportPromotions } from '../promotions/list-promotions.ts'
import { feedPromotions } from '../promotions/upsert-promotions.ts'
import { exportSales } from '../sales-history/list-sales.ts'
import { upsertSales } from '../sales-history/upsert-sales.ts'

/** Operations that upsert the rows of a JSON body slice by slice. */
export const upserts = { upsertProducts, upsertSales, upsertCompetitorPrices, upsertAgreements }

type Feeds = { [Id in FeedOperation]: Feed<Id> }

/** How each operation that takes files reads them; a missing one is a type error. */
const feeds = {
  ...upserts,
  addProducts: feedAddedProducts,
  removeProducts: feedRemovedProducts,
  updatePrices: feedPrices,
  updateDynamicAttributes: feedDynamicAttributes,
  upsertPromotions: feedPromotions,
} satisfies Feeds

/** Returns the feed of an operation that takes files. */
export function operationFeed({ id }: Operation): Feed<OperationId> {
  return feeds[id as keyof typeof feeds] as Feed<OperationId>
}

type Exports = { [Id in ExportOperation]: Export<Id> }

/** How each operation that returns files finds their rows; a missing one is a type error. */
const exports = {
  listProducts: exportProducts,
  listPriceListRows: exportPriceListRows,
  listRevisions: exportRevisions,
  diffPriceList: exportDiff,
  listPlanRows: exportPlanRows,
  listPromotions: exportPromotions,
  listSales: exportSales,
  listCompetitorPrices: exportCompetitorPrices,
  listAgreements: exportAgreements,
} satisfies Exports

/** Returns the export of an operation that returns files. */
export function operationExport({ id }: Operation): Export<OperationId> {
  return exports[id as keyof typeof exports] as Export<OperationId>
}
