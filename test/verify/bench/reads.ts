import type pg from 'pg'
import type { Client } from './client.ts'
import { codeOf, someIndexes, storedRows } from './fill.ts'
import type { Goal, Row, Workload } from './measure.ts'
import type { Bench, Server } from './servers.ts'

const path = '/api/v1/prices/get_prices/'
const clients = 8
/** Distinct requests of a round. */
const requests = 200

/** A body that reads `keys` random rows of the list of all products. */
export function readBody(keys: number, products = storedRows): string {
  const payload = someIndexes(keys, products).map((index) => ({
    code: codeOf(index),
    country: 'UK',
  }))
  return JSON.stringify({ price_list_name: 'Bench', payload })
}

const bareRead = `
  select json_agg(json_build_object('code', p.code, 'country', p.country, 'price_list_id', r.price_list_id,
    'extended_catalog_id', p.id, 'pk', r.id, 'active_price', r.price))::text as answer
  from jsonb_to_recordset($1::jsonb -> 'payload') as i (code text, country text)
  join products p on p.code = i.code and p.country = i.country
  join price_list_rows r on r.price_list_id = 1 and r.product_id = p.id`

/** Calls a read until the time is over, on each of the clients. Returns reads/s and the p99 in ms. */
async function readFor<T>(
  ms: number,
  connections: T[],
  read: (connection: T) => Promise<unknown>,
): Promise<number[]> {
  const start = performance.now()
  const times: number[] = []
  const readOn = async (connection: T) => {
    for (let sent = performance.now(); sent - start < ms; ) {
      await read(connection)
      const done = performance.now()
      times.push(done - sent)
      sent = done
    }
  }
  await Promise.all(connections.map(readOn))
  const seconds = (performance.now() - start) / 1000
  times.sort((a, b) => a - b)
  return [times.length / seconds, times[Math.floor(times.length * 0.99)] as number]
}

/** Reads of `keys` rows by 8 clients. Returns reads/s and the p99 in ms. */
export async function readServer(server: Server, keys: number, ms: number, products?: number) {
  const prepared = Array.from({ length: requests }, () =>
    server.request('POST', path, readBody(keys, products)),
  )
  const connections = Array.from({ length: clients }, server.connect)
  let sent = 0
  const read = (client: Client) => client.send(prepared[sent++ % requests] as Buffer)
  const figures = await readFor(ms, connections, read)
  for (const { close } of connections) close()
  return figures
}

let floors: pg.Client[] | undefined

async function readFloor(bench: Bench, keys: number, ms: number): Promise<number[]> {
  floors ??= await Promise.all(Array.from({ length: clients }, bench.connectFloor))
  const bodies = Array.from({ length: requests }, () => readBody(keys))
  let sent = 0
  return readFor(ms, floors, (client) =>
    client.query({ name: 'read', text: bareRead, values: [bodies[sent++ % requests]] }),
  )
}

function readWorkload(keys: number, ms: number, goal: Goal, p99?: Goal): Workload {
  const name = `read ${keys}`
  const rows: Row[] = [{ name, unit: 'reads/s', goal }]
  if (p99) rows.push({ name: `${name}, p99`, unit: 'ms', goal: p99 })
  return {
    rows,
    ours: ({ ours }) => readServer(ours, keys, ms),
    naive: ({ naive }) => readServer(naive, keys, ms),
    floor: (bench) => readFloor(bench, keys, ms),
  }
}

/** Reads of prices by 8 clients for `ms` a round. */
export const readWorkloads = (ms: number): Workload[] => [
  readWorkload(1, ms, { ratio: 1.6, of: 'naive' }, { ratio: 1, of: 'naive' }),
  readWorkload(100, ms, { ratio: 0.75, of: 'floor' }),
  readWorkload(1000, ms, { ratio: 0.85, of: 'floor' }),
]
