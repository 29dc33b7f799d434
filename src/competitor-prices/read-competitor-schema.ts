import { transaction } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { describeSchema, findCompetitorSchema } from './queries.ts'

/** The account's schema of competitor prices. Throws `not-found` if there is none yet. */
export const readCompetitorSchema = transaction<'readCompetitorSchema'>(
  async (trx, { account }) => {
    const schema = await findCompetitorSchema(trx, account)
    if (!schema) throw new Problem('not-found', 'There is no competitor schema yet.')
    return { ...(await describeSchema(trx, account, schema)), is_dated: schema.is_dated }
  },
)
