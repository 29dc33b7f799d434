import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { Operation } from '../contract/document.ts'
import type { Context, Handler, OperationId } from '../contract/operation.ts'
import { upserts } from '../feeds/feeds.ts'
import { upsertRows } from '../feeds/upsert-rows.ts'
import type { Pools } from '../pools.ts'
import type { ServiceHandlers } from './health.ts'
import type { Bulkheads } from './overload/admission-control.ts'
import type { UnreadResponses } from './overload/memory-budget.ts'
import type { PriceReads } from './price-reads.ts'

export { createApiKey } from '../accounts/api-keys/create-api-key.ts'
export { listApiKeys } from '../accounts/api-keys/list-api-keys.ts'
export { revokeApiKey } from '../accounts/api-keys/revoke-api-key.ts'
export { login } from '../accounts/login.ts'
export { changePassword } from '../accounts/users/change-password.ts'
export { createUser } from '../accounts/users/create-user.ts'
export { deleteUser } from '../accounts/users/delete-user.ts'
export { listUsers } from '../accounts/users/list-users.ts'
export { resetPassword } from '../accounts/users/reset-password.ts'
export { updateUser } from '../accounts/users/update-user.ts'
export { deleteAgreements } from '../agreements/delete-agreements.ts'
export { listAgreements } from '../agreements/list-agreements.ts'
export { readAgreement } from '../agreements/read-agreement.ts'
export { updateAgreement } from '../agreements/update-agreement.ts'
export { createCatalogSchema } from '../catalog/create-catalog-schema.ts'
export { deleteProducts } from '../catalog/delete-products.ts'
export { listProducts } from '../catalog/list-products.ts'
export { readCatalogSchema } from '../catalog/read-catalog-schema.ts'
export { createCompetitorSchema } from '../competitor-prices/create-competitor-schema.ts'
export { deleteCompetitorPrices } from '../competitor-prices/delete-competitor-prices.ts'
export { listCompetitorPrices } from '../competitor-prices/list-competitor-prices.ts'
export { readCompetitorSchema } from '../competitor-prices/read-competitor-schema.ts'
export { listJobs } from '../jobs/list-jobs.ts'
export { readJob } from '../jobs/read-job.ts'
export { readJobEvents } from '../jobs/read-job-events.ts'
export { discardPlan } from '../plans/discard-plan.ts'
export { listPlanRows } from '../plans/list-plan-rows.ts'
export { listPlans } from '../plans/list-plans.ts'
export { readPlan } from '../plans/read-plan.ts'
export { cancelJob } from '../price-lists/cancel-job.ts'
export { createPriceLists } from '../price-lists/create-price-lists.ts'
export { deletePriceList } from '../price-lists/delete-price-list.ts'
export { diffPriceList } from '../price-lists/history/diff-price-list.ts'
export { listChanges } from '../price-lists/history/list-changes.ts'
export { listRevisions } from '../price-lists/history/list-revisions.ts'
export { readRevision } from '../price-lists/history/read-revision.ts'
export { listPriceListRows } from '../price-lists/list-price-list-rows.ts'
export { listPriceLists } from '../price-lists/list-price-lists.ts'
export { readPriceList } from '../price-lists/read-price-list.ts'
export { updatePriceList } from '../price-lists/update-price-list.ts'
export { addProducts } from '../prices/add-products.ts'
export { getPriceHistory } from '../prices/get-price-history.ts'
export { getPrices } from '../prices/get-prices.ts'
export { applyPlan } from '../prices/plans/apply-plan.ts'
export { removeProducts } from '../prices/remove-products.ts'
export { reprice } from '../prices/reprice/reprice.ts'
export { revertPriceList } from '../prices/revert/revert-price-list.ts'
export { syncWithCatalog } from '../prices/sync-with-catalog.ts'
export { updateDynamicAttributes } from '../prices/update-dynamic-attributes.ts'
export { updatePrices } from '../prices/update-prices.ts'
export { deletePromotion } from '../promotions/delete-promotion.ts'
export { deletePromotions } from '../promotions/delete-promotions.ts'
export { listPromotions } from '../promotions/list-promotions.ts'
export { upsertPromotions } from '../promotions/upsert-promotions.ts'
export { deleteSales } from '../sales-history/delete-sales.ts'
export { listSales } from '../sales-history/list-sales.ts'

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

export const upsertProducts = upsertRows(upserts.upsertProducts)
export const upsertSales = upsertRows(upserts.upsertSales)
export const upsertCompetitorPrices = upsertRows(upserts.upsertCompetitorPrices)
export const upsertAgreements = upsertRows(upserts.upsertAgreements)
