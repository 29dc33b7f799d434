import { Answer, transaction } from '../contract/operation.ts'
import { agreementOf, etagOf, findAgreement } from './queries.ts'

/** One agreement, with its ETag. */
export const readAgreement = transaction<'readAgreement'>(async (trx, { account, params }) => {
  const agreement = await findAgreement(trx, account, params.id)
  return new Answer(agreementOf(agreement), { etag: etagOf(agreement) })
})
