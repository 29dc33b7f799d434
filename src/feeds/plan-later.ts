import type { Answer, Context, OperationRequest, Schemas } from '../contract/operation.ts'
import { readListName } from '../prices/payload.ts'
import { enqueueFile } from './file-job.ts'

/** Operations that plan rows from JSON or from a file. */
type PlannedFeed = 'addProducts' | 'removeProducts' | 'updatePrices' | 'upsertPromotions'
type Request = OperationRequest<PlannedFeed>
type JobAnswer = Answer<Schemas['JobInfo']>

/** The handler, but where the client prefers a job, a job makes the plan: from the rows as a file. */
export function orPlanLater<Own extends Request, Result>(
  operation: PlannedFeed,
  handler: (request: Own, context: Context) => Promise<Result>,
): (request: Own, context: Context) => Promise<Result | JobAnswer> {
  return async (request, context) => {
    const { account, body, query, errors, origin, prefersJob, inAccount }: Request = request
    if (!prefersJob || query.plan !== 'true') return handler(request, context)
    errors.reject()
    const { rows, ...call } = Array.isArray(body) ? { rows: body } : callOf(body)
    const file = { operation, mediaType: 'application/x-ndjson', query: { ...query, ...call } }
    return inAccount((trx) =>
      enqueueFile(trx, context, { ...file, account, bytes: linesOf(rows), origin, prefersJob }),
    )
  }
}

/** The rows of a body, and what else it says, as the query of a file does. */
function callOf(body: Exclude<Request['body'], unknown[]>) {
  const { name: _, payload: rows, ...call } = { name: undefined, ...body }
  return { rows, ...call, price_list_name: readListName(body).name }
}

async function* linesOf(rows: readonly unknown[]): AsyncGenerator<Buffer> {
  for (const row of rows) yield Buffer.from(`${JSON.stringify(row)}\n`)
}
