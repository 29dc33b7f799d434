import fastify from 'fastify'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { schemas } from './schemas.js'

/**
 * What a team would write in a day for the calls that `npm run bench` measures: no authentication, accounts, errors by
 * row, jobs, versions or promotions. JavaScript, because stripping types takes 19 MiB of the memory that is compared.
 */
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const db = new Kysely({ dialect: new PostgresDialect({ pool }) })
const app = fastify({
  bodyLimit: 50 * 1024 * 1024,
  routerOptions: { ignoreTrailingSlash: true },
})

const rowsOfStatement = 1000

function* chunksOf(rows) {
  for (let from = 0; from < rows.length; from += rowsOfStatement)
    yield rows.slice(from, from + rowsOfStatement)
}

/** Upserts rows by a unique key, all or none. Returns the ids of new rows. */
function upsert(table, key, rows) {
  return db.transaction().execute(async (trx) => {
    const created = []
    for (const chunk of chunksOf(rows)) {
      const values = Object.keys(chunk[0] ?? {}).filter((name) => !key.includes(name))
      const excluded = values.map((name) => [name, sql.ref(`excluded.${name}`)])
      const stored = await trx
        .insertInto(table)
        .values(chunk)
        .onConflict((conflict) => conflict.columns(key).doUpdateSet(Object.fromEntries(excluded)))
        .returning(['id', sql`xmax = 0`.as('is_new')])
        .execute()
      for (const { id, is_new } of stored) if (is_new) created.push(Number(id))
    }
    return created
  })
}

async function findList(name, from = db) {
  return from
    .selectFrom('price_lists')
    .selectAll()
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
}

app.post('/api/v1/sales_history/bulk_create_or_update', schemas.sales, async ({ body }, reply) => {
  reply.code(201)
  return upsert('sales', ['transaction_id'], body)
})

app.post(
  '/api/v1/competitor_prices/bulk_create_or_update/',
  schemas.competitorPrices,
  async ({ body }, reply) => {
    reply.code(201)
    return upsert('competitor_prices', ['code', 'country', 'competitor_name'], body)
  },
)

app.post('/api/v1/product_catalog/bulk_create_or_update/', schemas.products, async ({ body }) => {
  const { length } = await upsert('products', ['code', 'country'], body)
  return { created: length, updated: body.length - length }
})

app.post('/api/v1/agreement/bulk_create_or_update', schemas.agreements, async ({ body }) => {
  await upsert('agreements', ['name', 'client_code', 'price_list_code', 'price_line'], body)
  return {}
})

app.post('/api/v1/price_list/bulk_create/', schemas.priceLists, async ({ body }, reply) => {
  reply.code(201)
  const lists = body.map(({ product_filters, ...list }) => ({
    ...list,
    families: product_filters?.family ?? null,
  }))
  return db.insertInto('price_lists').values(lists).returning(['id', 'name']).execute()
})

app.post('/api/v1/prices/get_prices/', schemas.keys, async ({ body }, reply) => {
  reply.code(201)
  const list = await findList(body.price_list_name)
  const answer = []
  for (const { code, country } of body.payload) {
    const product = await db
      .selectFrom('products')
      .select('id')
      .where('code', '=', code)
      .where('country', '=', country)
      .executeTakeFirst()
    if (!product) continue
    const row = await db
      .selectFrom('price_list_rows')
      .select(['id', 'price'])
      .where('price_list_id', '=', list.id)
      .where('product_id', '=', product.id)
      .executeTakeFirst()
    if (!row) continue
    answer.push({
      code,
      country,
      price_list_name: list.name,
      price_list_id: Number(list.id),
      extended_catalog_id: Number(product.id),
      pk: Number(row.id),
      active_price: Number(row.price),
      promotions: [],
    })
  }
  return answer
})

app.post('/api/v1/prices/bulk_update_prices/', schemas.prices, async ({ body }, reply) => {
  reply.code(201)
  return db.transaction().execute(async (trx) => {
    const list = await findList(body.price_list_name, trx)
    const ids = []
    for (const chunk of chunksOf(body.payload)) {
      const values = chunk.map(
        ({ code, country, price }) => sql`(${code}, ${country}, ${price}::numeric)`,
      )
      const { rows } = await sql`
        update price_list_rows r set price = v.price
        from (values ${sql.join(values)}) as v (code, country, price)
        join products p on p.code = v.code and p.country = v.country
        where r.price_list_id = ${list.id} and r.product_id = p.id
        returning r.id`.execute(trx)
      for (const { id } of rows) ids.push(Number(id))
    }
    return ids
  })
})

app.post('/api/v1/prices/bulk_add_products/', schemas.keys, async ({ body }, reply) => {
  reply.code(201)
  return db.transaction().execute(async (trx) => {
    const list = await findList(body.price_list_name, trx)
    const { rows } = await sql`
      insert into price_list_rows (price_list_id, product_id)
      select ${list.id}, p.id from jsonb_to_recordset(${JSON.stringify(body.payload)}) as v (code text, country text)
      join products p on p.code = v.code and p.country = v.country and p.active
      on conflict do nothing returning id`.execute(trx)
    return idsOf(rows)
  })
})

app.post('/api/v1/prices/sync_with_catalog/', schemas.list, async ({ body }, reply) => {
  reply.code(201)
  return db.transaction().execute(async (trx) => {
    const list = await findList(body.price_list_name, trx)
    const removed = await removeOthers(trx, list.id, list.families)
    const untouched = await trx
      .selectFrom('price_list_rows')
      .select('id')
      .where('price_list_id', '=', list.id)
      .execute()
    const { rows: added } = await sql`
      insert into price_list_rows (price_list_id, product_id)
      select ${list.id}, id from products
      where active and (${list.families}::text[] is null or family = any(${list.families}))
      on conflict do nothing returning id`.execute(trx)
    return { added: idsOf(added), removed: idsOf(removed), untouched: idsOf(untouched) }
  })
})

/** Takes the products out of a list that are inactive or not in its families. */
async function removeOthers(trx, list, families) {
  const { rows } = await sql`
    delete from price_list_rows r using products p
    where r.price_list_id = ${list} and p.id = r.product_id
      and not (p.active and (${families}::text[] is null or p.family = any(${families})))
    returning r.id`.execute(trx)
  return rows
}

const idsOf = (rows) => rows.map(({ id }) => Number(id))

process.once('SIGTERM', () => app.close().then(() => db.destroy()))
const url = await app.listen({ port: Number(process.env.PORT ?? 0) })
console.log(`The naive build listens on ${url}`)
