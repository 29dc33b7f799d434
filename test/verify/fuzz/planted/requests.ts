import { bodyBug, type PlantedBug, requestBug } from './plant.ts'

type Row = Record<string, unknown>

const eachRow = (change: (row: Row) => void) => (body: { payload?: Row[] } | Row[]) => {
  const rows = Array.isArray(body) ? body : body.payload
  if (Array.isArray(rows)) for (const row of rows) if (row && typeof row === 'object') change(row)
}

const eachText = (change: (text: string) => string) =>
  eachRow((row) => {
    for (const [key, value] of Object.entries(row))
      if (typeof value === 'string') row[key] = change(value)
  })

/** Bugs in the reading of requests. */
export const requestBugs: PlantedBug[] = [
  bodyBug(
    'a price of null is 0',
    'updatePrices',
    eachRow((row) => {
      if (row.price === null) row.price = 0
    }),
  ),
  bodyBug(
    'a price in a string is a number',
    'updatePrices',
    eachRow((row) => {
      if (/^\d+(\.\d+)?$/.test(String(row.price))) row.price = Number(row.price)
    }),
  ),
  bodyBug(
    'a price is a float of 32 bits',
    'updatePrices',
    eachRow((row) => {
      if (typeof row.price === 'number') row.price = Number(Math.fround(row.price).toPrecision(7))
    }),
  ),
  bodyBug(
    'a price has two decimals',
    'updatePrices',
    eachRow((row) => {
      if (typeof row.price === 'number') row.price = Math.round(row.price * 100) / 100
    }),
  ),
  bodyBug(
    'unknown keys are dropped',
    'upsertPromotions',
    eachRow((row) => {
      delete row['no~such/key']
    }),
  ),
  bodyBug('the last row of a batch is lost', 'upsertSales', (body) => {
    if (Array.isArray(body) && body.length > 1) body.pop()
  }),
  bodyBug('a batch is cut off after two rows', 'upsertPromotions', (body) => {
    if (Array.isArray(body)) body.splice(2)
  }),
  bodyBug(
    'texts are trimmed',
    'upsertSales',
    eachText((text) => text.trim() || text),
  ),
  bodyBug(
    'texts are normalized',
    'upsertSales',
    eachText((text) => text.normalize('NFC')),
  ),
  bodyBug(
    'names are compared in lower case',
    'upsertCompetitorPrices',
    eachRow((row) => {
      if (typeof row.competitor_name === 'string')
        row.competitor_name = row.competitor_name.toLowerCase()
    }),
  ),
  bodyBug(
    'summer days are a day early',
    'upsertPromotions',
    eachRow((row) => {
      const date = String(row.valid_from)
      if (/^\d{4}-0[4-9]-\d\d$/.test(date))
        row.valid_from = new Date(Date.parse(`${date}T00:00:00+02:00`)).toISOString().slice(0, 10)
    }),
  ),
  bodyBug('promotion_date is ignored', 'getPrices', (body) => {
    if (typeof body?.promotion_date === 'string') delete body.promotion_date
  }),
  bodyBug('only the first row of a read is expanded', 'getPrices', (body) => {
    if (Array.isArray(body?.payload)) body.payload.splice(1)
  }),
  bodyBug(
    'null does not remove a key',
    'updateAgreement',
    (body) => body && JSON.parse(JSON.stringify(body, (_, value) => value ?? undefined) ?? '{}'),
  ),
  bodyBug(
    'nested extensions are overlooked',
    'addProducts',
    eachRow((row) => {
      delete row.extensions
    }),
  ),
  bodyBug(
    'is_calendar is forgotten',
    'createPriceLists',
    eachRow((row) => {
      if (row.is_calendar === true) row.is_calendar = false
    }),
  ),
  requestBug('If-Match is ignored', 'updateAgreement', ({ headers, ...request }) => {
    const { 'if-match': _, ...others } = headers
    return { ...request, headers: others }
  }),
  requestBug(
    'the list of any account is read',
    'readPriceList',
    (request, { foreign, foreignToken }) =>
      request.url.includes(`/${foreign.list.id}`)
        ? { ...request, headers: { ...request.headers, authorization: `jwt ${foreignToken}` } }
        : request,
  ),
  requestBug('a token that is none is taken', 'listSales', (request, { foreignToken }) =>
    request.headers.authorization === 'jwt a.b.c'
      ? { ...request, headers: { ...request.headers, authorization: `jwt ${foreignToken}` } }
      : request,
  ),
  requestBug('a repeated request is done again', 'upsertSales', ({ headers, ...request }) => {
    const { 'idempotency-key': _, ...others } = headers
    return { ...request, headers: others }
  }),
  requestBug('offset counts from 1', 'listSales', (request) => ({
    ...request,
    url: request.url.replace(/offset=([1-9]\d*)/, (_, offset) => `offset=${offset - 1}`),
  })),
  requestBug('a page has one result less', 'listProducts', (request) => ({
    ...request,
    url: request.url.replace(/limit=([2-9])\b/, (_, limit) => `limit=${limit - 1}`),
  })),
]
