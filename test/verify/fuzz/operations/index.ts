import type { FuzzOperation } from '../world.ts'
import { agreementOperations } from './agreements.ts'
import { productOperations } from './catalog.ts'
import { schemaOperations } from './catalog-schema.ts'
import { competitorOperations } from './competitors.ts'
import { deletions } from './deletions.ts'
import { attributeOperations } from './dynamic-attributes.ts'
import { readOperations } from './get-prices.ts'
import { historyOperations } from './history.ts'
import { jobOperations } from './jobs.ts'
import { listedRows } from './listed-rows.ts'
import { planOperations } from './plans.ts'
import { listOperations } from './price-lists.ts'
import { promotionOperations } from './promotions.ts'
import { removals } from './removals.ts'
import { reverts } from './reverts.ts'
import { rowOperations } from './rows.ts'
import { salesOperations } from './sales.ts'
import { serviceOperations } from './service.ts'
import { settingsOperations } from './settings.ts'
import { syncOperations } from './sync.ts'

/** Generators of every operation, except for cancelling a job, which sessions with jobs do. */
export const fuzzOperations: FuzzOperation[] = [
  ...schemaOperations,
  ...productOperations,
  ...listOperations,
  ...settingsOperations,
  ...rowOperations,
  ...listedRows,
  ...attributeOperations,
  ...syncOperations,
  ...readOperations,
  ...promotionOperations,
  ...removals,
  ...reverts,
  ...historyOperations,
  ...planOperations,
  ...deletions,
  ...salesOperations,
  ...competitorOperations,
  ...agreementOperations,
  ...jobOperations,
  ...serviceOperations,
]
