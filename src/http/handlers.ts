import { login } from '../accounts/login.ts'
import { createCatalogSchema } from '../catalog/create-catalog-schema.ts'
import { listProducts } from '../catalog/list-products.ts'
import { readCatalogSchema } from '../catalog/read-catalog-schema.ts'
import { upsertProducts } from '../catalog/upsert-products.ts'
import type { Handler, OperationId } from '../contract/operation.ts'
import { listJobs } from '../jobs/list-jobs.ts'
import { readJob } from '../jobs/read-job.ts'
import { readJobEvents } from '../jobs/read-job-events.ts'
import { cancelJob } from '../price-lists/cancel-job.ts'
import { createPriceLists } from '../price-lists/create-price-lists.ts'
import { deletePriceList } from '../price-lists/delete-price-list.ts'
import { listPriceListRows } from '../price-lists/list-price-list-rows.ts'
import { listPriceLists } from '../price-lists/list-price-lists.ts'
import { readPriceList } from '../price-lists/read-price-list.ts'
import { addProducts } from '../prices/add-products.ts'
import { getPrices } from '../prices/get-prices.ts'
import { syncWithCatalog } from '../prices/sync-with-catalog.ts'
import { updatePrices } from '../prices/update-prices.ts'
import { listSales } from '../sales-history/list-sales.ts'
import { upsertSales } from '../sales-history/upsert-sales.ts'
import type { ServiceOperation } from './service.ts'

type Handlers = { [Id in Exclude<OperationId, ServiceOperation>]: Handler<Id> }

/** The implementation of every operation but those about the service itself; one that is missing is a type error. */
export const handlers = {
  login,
  createCatalogSchema,
  readCatalogSchema,
  upsertProducts,
  listProducts,
  createPriceLists,
  listPriceLists,
  readPriceList,
  deletePriceList,
  listPriceListRows,
  addProducts,
  updatePrices,
  syncWithCatalog,
  getPrices,
  upsertSales,
  listSales,
  listJobs,
  readJob,
  readJobEvents,
  cancelJob,
} satisfies Handlers
