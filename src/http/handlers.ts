import type { FastifyReply, FastifyRequest } from 'fastify'
import { createApiKey } from '../accounts/api-keys/create-api-key.ts'
import { listApiKeys } from '../accounts/api-keys/list-api-keys.ts'
import { revokeApiKey } from '../accounts/api-keys/revoke-api-key.ts'
import { login } from '../accounts/login.ts'
import { changePassword } from '../accounts/users/change-password.ts'
import { createUser } from '../accounts/users/create-user.ts'
import { deleteUser } from '../accounts/users/delete-user.ts'
import { listUsers } from '../accounts/users/list-users.ts'
import { resetPassword } from '../accounts/users/reset-password.ts'
import { updateUser } from '../accounts/users/update-user.ts'
import { deleteAgreements } from '../agreements/delete-agreements.ts'
import { listAgreements } from '../agreements/list-agreements.ts'
import { readAgreement } from '../agreements/read-agreement.ts'
import { updateAgreement } from '../agreements/update-agreement.ts'
import { upsertAgreements } from '../agreements/upsert-agreements.ts'
import { createCatalogSchema } from '../catalog/create-catalog-schema.ts'
import { deleteProducts } from '../catalog/delete-products.ts'
import { listProducts } from '../catalog/list-products.ts'
import { readCatalogSchema } from '../catalog/read-catalog-schema.ts'
import { upsertProducts } from '../catalog/upsert-products.ts'
import { createCompetitorSchema } from '../competitor-prices/create-competitor-schema.ts'
import { deleteCompetitorPrices } from '../competitor-prices/delete-competitor-prices.ts'
import { listCompetitorPrices } from '../competitor-prices/list-competitor-prices.ts'
import { readCompetitorSchema } from '../competitor-prices/read-competitor-schema.ts'
import { upsertCompetitorPrices } from '../competitor-prices/upsert-competitor-prices.ts'
import type { Config } from '../config.ts'
import type { Operation } from '../contract/document.ts'
import type { Context, Handler, OperationId } from '../contract/operation.ts'
import { upsertRows } from '../feeds/upsert-rows.ts'
import { listJobs } from '../jobs/list-jobs.ts'
import { readJob } from '../jobs/read-job.ts'
import { readJobEvents } from '../jobs/read-job-events.ts'
import { discardPlan } from '../plans/discard-plan.ts'
import { listPlanRows } from '../plans/list-plan-rows.ts'
import { listPlans } from '../plans/list-plans.ts'
import { readPlan } from '../plans/read-plan.ts'
import type { Pools } from '../pools.ts'
import { cancelJob } from '../price-lists/cancel-job.ts'
import { createPriceLists } from '../price-lists/create-price-lists.ts'
import { deletePriceList } from '../price-lists/delete-price-list.ts'
import { diffPriceList } from '../price-lists/history/diff-price-list.ts'
import { listChanges } from '../price-lists/history/list-changes.ts'
import { listRevisions } from '../price-lists/history/list-revisions.ts'
import { readRevision } from '../price-lists/history/read-revision.ts'
import { listPriceListRows } from '../price-lists/list-price-list-rows.ts'
import { listPriceLists } from '../price-lists/list-price-lists.ts'
import { readPriceList } from '../price-lists/read-price-list.ts'
import { updatePriceList } from '../price-lists/update-price-list.ts'
import { addProducts } from '../prices/add-products.ts'
import { getPriceHistory } from '../prices/get-price-history.ts'
import { getPrices } from '../prices/get-prices.ts'
import { applyPlan } from '../prices/plans/apply-plan.ts'
import { removeProducts } from '../prices/remove-products.ts'
import { reprice } from '../prices/reprice/reprice.ts'
import { revertPriceList } from '../prices/revert/revert-price-list.ts'
import { syncWithCatalog } from '../prices/sync-with-catalog.ts'
import { updateDynamicAttributes } from '../prices/update-dynamic-attributes.ts'
import { updatePrices } from '../prices/update-prices.ts'
import { deletePromotion } from '../promotions/delete-promotion.ts'
import { deletePromotions } from '../promotions/delete-promotions.ts'
import { listPromotions } from '../promotions/list-promotions.ts'
import { upsertPromotions } from '../promotions/upsert-promotions.ts'
import { deleteSales } from '../sales-history/delete-sales.ts'
import { listSales } from '../sales-history/list-sales.ts'
import { upsertSales } from '../sales-history/upsert-sales.ts'
import type { ServiceHandlers, ServiceOperation } from './health.ts'
import type { Bulkheads } from './overload/admission-control.ts'
import type { UnreadResponses } from './overload/memory-budget.ts'
import type { PriceReads } from './price-reads.ts'

/** An operation and what implements it. */
export interface Implementation {
  handler: Handler<OperationId>
  operation: Operation
}

/** A request for an operation. */
export interface OperationCall extends Implementation {
  services: OperationServices
  request: FastifyRequest
  reply: FastifyReply
}

export interface OperationServices {
  pools: Pools
  priceReads: PriceReads
  context: Context
  service: ServiceHandlers
  config: Config
  bulkheads: Bulkheads
  unread: UnreadResponses
}

type Handlers = { [Id in Exclude<OperationId, ServiceOperation>]: Handler<Id> }

/** The handlers of all operations but those about the service itself. A missing one is a type error. */
export const handlers = {
  login,
  createCatalogSchema,
  readCatalogSchema,
  upsertProducts: upsertRows(upsertProducts),
  listProducts,
  deleteProducts,
  createPriceLists,
  listPriceLists,
  readPriceList,
  updatePriceList,
  deletePriceList,
  listPriceListRows,
  listRevisions,
  readRevision,
  diffPriceList,
  listChanges,
  revertPriceList,
  addProducts,
  removeProducts,
  updatePrices,
  syncWithCatalog,
  reprice,
  getPrices,
  getPriceHistory,
  updateDynamicAttributes,
  upsertPromotions,
  listPromotions,
  deletePromotion,
  deletePromotions,
  upsertSales: upsertRows(upsertSales),
  listSales,
  deleteSales,
  createCompetitorSchema,
  readCompetitorSchema,
  upsertCompetitorPrices: upsertRows(upsertCompetitorPrices),
  listCompetitorPrices,
  deleteCompetitorPrices,
  upsertAgreements: upsertRows(upsertAgreements),
  listAgreements,
  readAgreement,
  updateAgreement,
  deleteAgreements,
  listPlans,
  readPlan,
  discardPlan,
  listPlanRows,
  applyPlan,
  listJobs,
  readJob,
  readJobEvents,
  cancelJob,
  createUser,
  listUsers,
  updateUser,
  deleteUser,
  resetPassword,
  changePassword,
  createApiKey,
  listApiKeys,
  revokeApiKey,
} satisfies Handlers
