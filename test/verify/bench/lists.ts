import { to as copyTo } from 'pg-copy-streams'
import { codeOf, createList, someIndexes, storedRows } from './fill.ts'
import { type Goal, timed, type Workload } from './measure.ts'
import type { Bench, Server } from './servers.ts'

const changedRows = 10_000
/** Ten of the hundred families. */
const families = Array.from({ length: 10 }, (_, index) => `F${index}`)

export const updatePath = '/api/v1/prices/bulk_update_prices/'

/** A body that sets `rows` random prices of the list of all products. */
export function updateBody(rows: number, list = 'Bench'): string {
  const payload = someIndexes(rows, storedRows).map((index) => ({
    code: codeOf(index),
    country: 'UK',
    price: Math.round(Math.random() * 1e6) / 100,
  }))
  return JSON.stringify({ price_list_name: list, payload })
}

function updateWorkload(rows: number): Workload {
  const post = async (server: Server) => {
    const body = updateBody(rows)
    return [await timed(() => server.post(updatePath, body))]
  }
  const bare = `
    update price_list_rows r set price = i.price
    from jsonb_to_recordset($1::jsonb -> 'payload') as i (code text, country text, price numeric)
    join products p on p.code = i.code and p.country = i.country
    where r.price_list_id = 1 and r.product_id = p.id
    returning r.id`
  return {
    rows: [
      {
        name: `update ${rows.toLocaleString('en')} prices`,
        unit: 'ms',
        goal: { ratio: 0.7, of: 'naive' },
      },
    ],
    ours: ({ ours }) => post(ours),
    naive: ({ naive }) => post(naive),
    floor: async ({ floor }) => {
      const body = updateBody(rows)
      return [await timed(() => floor.query(bare, [body]))]
    },
  }
}

interface ListChange {
  name: string
  path: string
  goal: Goal
  settings?: Record<string, unknown>
  /** The body beside the name of the list. */
  body?(): Record<string, unknown>
  /** The statement of the floor: $1 is the list's id, $2 the body. */
  bare: string
}

/** Fills an empty list with 10,000 products, to the end of the job. */
function fillWorkload({ name, path, goal, settings, body, bare }: ListChange): Workload {
  const listOf = (round: number) => `${name} ${round}`
  const bodyOf = (round: number) => JSON.stringify({ price_list_name: listOf(round), ...body?.() })
  const post = async (server: Server, round: number) => {
    await createList(server, listOf(round), settings)
    const sent = bodyOf(round)
    return [await timed(() => server.postToEnd(path, sent))]
  }
  return {
    rows: [{ name, unit: 'ms', goal }],
    ours: ({ ours }, round) => post(ours, round),
    naive: ({ naive }, round) => post(naive, round),
    floor: async ({ floor }, round) => {
      const { rows } = await floor.query(
        `insert into price_lists (name, valid_from, valid_to) values ($1, '2026-01-01', '2026-12-31') returning id`,
        [listOf(round)],
      )
      const values = [rows[0].id, bodyOf(round)]
      return [await timed(() => floor.query(bare, values))]
    },
  }
}

const addWorkload = fillWorkload({
  name: 'add 10,000 products',
  path: '/api/v1/prices/bulk_add_products/',
  goal: { ratio: 1.15, of: 'naive' },
  body: () => ({
    payload: someIndexes(changedRows, storedRows).map((index) => ({
      code: codeOf(index),
      country: 'UK',
    })),
  }),
  bare: `
    insert into price_list_rows (price_list_id, product_id)
    select $1, p.id from jsonb_to_recordset($2::jsonb -> 'payload') as i (code text, country text)
    join products p on p.code = i.code and p.country = i.country and p.active
    on conflict do nothing returning id`,
})

const syncWorkload = fillWorkload({
  name: 'sync that adds 10,000 products',
  path: '/api/v1/prices/sync_with_catalog/',
  goal: { ratio: 1.25, of: 'naive' },
  settings: { product_filters: { family: families } },
  bare: `
    insert into price_list_rows (price_list_id, product_id)
    select $1, id from products where active and family = any('{${families}}') and $2::jsonb is not null
    on conflict do nothing returning id`,
})

/** Reads all prices of a list by one wildcard; the floor is COPY from the same table. */
const wildcardWorkload: Workload = {
  rows: [{ name: 'read all 100,000 rows of a list', unit: 'ms' }],
  ours: async ({ ours }) => {
    const body = JSON.stringify({ price_list_name: 'Bench', payload: [{}] })
    return [await timed(() => ours.post('/api/v1/prices/get_prices/', body))]
  },
  floor: async ({ ours: { sql, account } }: Bench) => {
    const text = `
      select code, extensions[1], 'Bench', price_list_id, product_id, id, prices[1]
      from price_list_rows where account_id = ${account} and added_version <= 1 and removed_version is null
        and price_list_id = (select id from price_lists where account_id = ${account} and name = 'Bench')
      order by code, extensions`
    const read = async () => {
      for await (const _ of sql.query(copyTo(`copy (${text}) to stdout`)));
    }
    return [await timed(read)]
  },
}

/** Changes of a list, and a read of it all. */
export const listWorkloads: Workload[] = [
  updateWorkload(10_000),
  updateWorkload(100_000),
  addWorkload,
  syncWorkload,
  wildcardWorkload,
]
