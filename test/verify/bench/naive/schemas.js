const text = { type: 'string', minLength: 1, maxLength: 255 }
const decimal = { type: 'string', pattern: '^-?\\d{1,15}(\\.\\d{1,6})?$' }
const money = { type: 'number', minimum: 0 }
const date = { type: 'string', format: 'date' }
const timestamp = { type: 'string', format: 'date-time' }
const code = text
const country = text

const object = (required, properties) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
})
const body = (schema) => ({ schema: { body: schema } })
const rows = (schema) => body({ type: 'array', items: schema })
const ofList = (row) =>
  body(
    object(['price_list_name', 'payload'], {
      price_list_name: text,
      payload: { type: 'array', items: row },
    }),
  )

/** The bodies, for Fastify's validation. */
export const schemas = {
  products: rows(
    object(['code', 'country'], {
      code,
      country,
      brand: text,
      family: text,
      purchase: money,
      freight: money,
    }),
  ),
  priceLists: rows(
    object(['name', 'valid_from', 'valid_to'], {
      name: text,
      valid_from: date,
      valid_to: date,
      product_filters: object([], { family: { type: 'array', items: text } }),
    }),
  ),
  keys: ofList(object(['code', 'country'], { code, country })),
  prices: ofList(object(['code', 'country', 'price'], { code, country, price: money })),
  list: body(object(['price_list_name'], { price_list_name: text })),
  sales: rows(
    object(['transaction_id', 'code', 'extension', 'quantity', 'revenue'], {
      transaction_id: text,
      price_list_name: text,
      price_dimension: text,
      code,
      extension: { type: 'string', maxLength: 255 },
      quantity: decimal,
      active_price: decimal,
      client_code: text,
      agreement_code: text,
      departure_date: date,
      revenue: decimal,
      transaction_date: timestamp,
      currency: { type: 'string', pattern: '^[A-Z]{3}$' },
    }),
  ),
  competitorPrices: rows(
    object(['code', 'country', 'competitor_name', 'competitor_price', 'latest_update'], {
      code,
      country,
      competitor_name: text,
      competitor_price: money,
      latest_update: timestamp,
    }),
  ),
  agreements: rows(
    object(['name', 'client_code', 'price_list_code', 'price_line', 'prices'], {
      name: text,
      client_code: text,
      price_list_code: text,
      price_line: { type: 'object', minProperties: 1 },
      prices: { type: 'object', minProperties: 1 },
    }),
  ),
}
