import { exportAgreements } from '../agreements/list-agreements.ts'
import { exportProducts } from '../catalog/list-products.ts'
import { exportCompetitorPrices } from '../competitor-prices/list-competitor-prices.ts'
import type { Export, ExportOperation } from '../contract/export.ts'
import { exportPriceListRows } from '../price-lists/export-price-list-rows.ts'
import { exportPromotions } from '../promotions/list-promotions.ts'
import { exportSales } from '../sales-history/list-sales.ts'

type Exports = { [Id in ExportOperation]: Export<Id> }

/** How each operation that answers files finds their rows; one that the contract has and is missing is a type error. */
export const exports = {
  listProducts: exportProducts,
  listPriceListRows: exportPriceListRows,
  listPromotions: exportPromotions,
  listSales: exportSales,
  listCompetitorPrices: exportCompetitorPrices,
  listAgreements: exportAgreements,
} satisfies Exports
