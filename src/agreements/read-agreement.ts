import { Answer, type Handler } from '../contract/operation.ts'
import { agreementOf, etagOf, findAgreement } from './queries.ts'

/** One agreement, with its ETag. */
export const readAgreement: Handler<'readAgreement'> = ({ account, params, inAccount }) =>
  inAccount(async (trx) => {
    const agreement = await findAgreement(trx, account, params.id)
    return new Answer(agreementOf(agreement), { etag: etagOf(agreement) })
  })
