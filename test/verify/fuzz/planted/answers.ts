import { answerBug, type PlantedBug } from './plant.ts'

interface PriceRow {
  active_price: number
  pk: number
  extended_catalog_id: number
  promotions: { value: number }[]
}

const problem = {
  type: 'internal-error',
  title: 'Internal error',
  status: 500,
  detail: '',
  instance: '',
}
const isRead = (body: unknown): body is PriceRow[] => Array.isArray(body) && body.length > 0

/** Bugs in answers. */
export const answerBugs: PlantedBug[] = [
  answerBug('the last of several errors is left out', 'upsertProducts', (body) => {
    if (body?.errors?.length > 1) body.errors.pop()
  }),
  answerBug('a pointer names the row before', 'upsertPromotions', (body) => {
    for (const error of body?.errors ?? [])
      error.pointer = error.pointer.replace(
        /^\/([1-9]\d*)/,
        (_: string, row: string) => `/${Number(row) - 1}`,
      )
  }),
  answerBug('a pointer is not escaped', 'upsertProducts', (body) => {
    for (const error of body?.errors ?? [])
      error.pointer = error.pointer.replaceAll('~1', '/').replaceAll('~0', '~')
  }),
  answerBug('error_count is one too many', 'addProducts', (body) => {
    if (body?.error_count) body.error_count++
  }),
  answerBug('an emoji is a fault of the service', 'upsertSales', (_, __, request) =>
    /\p{Extended_Pictographic}/u.test(String(request.payload))
      ? { statusCode: 500, body: JSON.stringify(problem) }
      : undefined,
  ),
  answerBug('a status that the contract does not know', 'upsertSales', (_, { statusCode }) =>
    statusCode === 201 ? { statusCode: 200 } : undefined,
  ),
  answerBug('an error in another media type', 'listSales', (_, { statusCode, headers }) =>
    statusCode === 400
      ? { headers: { ...headers, 'content-type': 'application/json' } }
      : undefined,
  ),
  answerBug('a row twice', 'listSales', ({ results }) => {
    if (results?.length > 1) results.push(results[0])
  }),
  answerBug('count counts the page', 'listPromotions', (body) => {
    if (body?.results) body.count = body.results.length
  }),
  answerBug('ids are texts', 'updatePrices', (body) =>
    Array.isArray(body) ? { body: JSON.stringify(body.map(String)) } : undefined,
  ),
  answerBug('ids are sorted', 'addProducts', (body) => {
    if (Array.isArray(body)) body.sort((a, b) => a - b)
  }),
  answerBug('the last promotion is in force and not the best', 'getPrices', (body) => {
    if (isRead(body))
      for (const row of body) row.active_price = row.promotions.at(-1)?.value ?? row.active_price
  }),
  answerBug('pk and extended_catalog_id are mixed up', 'getPrices', (body) => {
    if (!isRead(body)) return
    for (const row of body) [row.pk, row.extended_catalog_id] = [row.extended_catalog_id, row.pk]
  }),
  answerBug('rows in the opposite order', 'getPrices', (body) => {
    if (isRead(body)) body.reverse()
  }),
  answerBug('half a millionth is rounded down', 'getPrices', (body) => {
    if (!isRead(body)) return
    for (const { promotions } of body)
      for (const promotion of promotions)
        if (/\.\d{6}$/.test(String(promotion.value)))
          promotion.value = Number((promotion.value - 1e-6).toFixed(6))
  }),
  answerBug('the ETag never changes', 'readAgreement', (_, { headers }) => ({
    headers: { ...headers, ...(headers.etag && { etag: '"1"' }) },
  })),
  answerBug('a missing list is another problem', 'readPriceList', (body) => {
    if (body?.type === 'price-list-not-found') body.type = 'not-found'
  }),
  answerBug('what is created counts as updated', 'upsertCompetitorPrices', (body) => {
    body?.updated?.push(...body.created.splice(0))
  }),
  answerBug(
    'a refused request has published the list',
    'addProducts',
    async (_, answer, __, { owner }) => {
      if (answer.statusCode === 400)
        await owner.query('update price_lists set version = version + 1')
    },
  ),
  answerBug('a read counts as a change', 'readAgreement', async (_, answer, request, { owner }) => {
    const id = /\/(\d+)$/.exec(request.url)?.[1]
    if (answer.statusCode === 200)
      await owner.query('update agreements set version = version + 1 where id = $1', [id])
  }),
]
