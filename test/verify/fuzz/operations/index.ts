import type { FuzzOperation } from '../world.ts'
import { agreementOperations } from './agreements.ts'
import { productOperations } from './catalog.ts'
import { schemaOperations } from './catalog-schema.ts'
import { competitorOperations } from './competitors.ts'
import { attributeOperations } from './dynamic-attributes.ts'
import { readOperations } from './get-prices.ts'
import { jobOperations } from './jobs.ts'
import { listOperations } from './price-lists.ts'
import { promotionOperations } from './promotions.ts'
import { rowOperations } from './rows.ts'
import { salesOperations } from './sales.ts'
import { serviceOperations } from './service.ts'
import { syncOperations } from './sync.ts'

/** Generators of every operation, except for cancelling a job, which sessions with jobs do. */
export const fuzzOperations: FuzzOperation[] = [
  ...schemaOperations,
  ...productOperations,
  ...listOperations,
  ...rowOperations,
  ...attributeOperations,
  ...syncOperations,
  ...readOperations,
  ...promotionOperations,
  ...salesOperations,
  ...competitorOperations,
  ...agreementOperations,
  ...jobOperations,
  ...serviceOperations,
]
