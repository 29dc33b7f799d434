import type pg from 'pg'
import type { Client } from './client.ts'
import { codeOf, someIndexes, storedRows } from './fill.ts'
import { type Goal, median, type Row, timed, type Workload } from './measure.ts'
import type { Bench, Server } from './servers.ts'

const path = '/api/v1/prices/get_prices/'
const clients = 8
const bodyCount = 100
/** Short, so that the sides of a round meet the same machine. */
const roundMs = 500
const shortRounds = 4
const soloReads = 20

/** Bodies that read `keys` random rows each of the list of all products. */
export const readBodies = (keys: number, products = storedRows): string[] =>
  Array.from({ length: bodyCount }, () => readBody(keys, products))

function readBody(keys: number, products: number): string {
  return JSON.stringify({ price_list_name: 'Bench', payload: someKeys(keys, products) })
}

function someKeys(keys: number, products: number) {
  return someIndexes(keys, products).map((index) => ({ code: codeOf(index), country: 'UK' }))
}

const bareRead = `
  select json_agg(row)::text as answer from (
    select p.code, p.country, r.price_list_id, p.id as extended_catalog_id, r.id as pk, r.price as active_price
    from jsonb_to_recordset($1::jsonb -> 'payload') as i (code text, country text)
    join products p on p.code = i.code and p.country = i.country
    join price_list_rows r on r.price_list_id = 1 and r.product_id = p.id
  ) as row`

/** Calls a read on each connection until the round is over. Returns reads/s and the p99 in ms. */
async function readOn<T>(
  connections: T[],
  read: (connection: T) => Promise<unknown>,
): Promise<number[]> {
  const start = performance.now()
  const times: number[] = []
  const readOne = async (connection: T) => {
    for (let sent = performance.now(); sent - start < roundMs; ) {
      await read(connection)
      const done = performance.now()
      times.push(done - sent)
      sent = done
    }
  }
  await Promise.all(connections.map(readOne))
  const seconds = (performance.now() - start) / 1000
  times.sort((a, b) => a - b)
  return [times.length / seconds, times[Math.floor(times.length * 0.99)] as number]
}

/** Reads by 8 clients. Returns reads/s and the p99 in ms. */
export async function readServer(server: Server, bodies: string[]): Promise<number[]> {
  const requests = bodies.map((body) => server.request('POST', path, body))
  const connections = Array.from({ length: clients }, server.connect)
  let sent = 0
  const read = (client: Client) => client.send(requests[sent++ % bodyCount] as Buffer)
  const figures = await readOn(connections, read)
  for (const { close } of connections) close()
  return figures
}

let floors: pg.Client[] | undefined

async function readFloor(bench: Bench, bodies: string[]): Promise<number[]> {
  floors ??= await Promise.all(Array.from({ length: clients }, bench.connectFloor))
  let sent = 0
  return readOn(floors, (client) =>
    client.query({ name: 'read', text: bareRead, values: [bodies[sent++ % bodyCount]] }),
  )
}

function readWorkload(keys: number, goal: Goal, p99?: Goal): Workload {
  const bodies = readBodies(keys)
  const name = `read ${keys}`
  const rows: Row[] = [{ name, unit: 'reads/s', goal }]
  if (p99) rows.push({ name: `${name}, p99`, unit: 'ms', goal: p99 })
  return {
    rows,
    shortRounds,
    ours: ({ ours }) => readServer(ours, bodies),
    naive: ({ naive }) => readServer(naive, bodies),
    floor: (bench) => readFloor(bench, bodies),
  }
}

/** The median time in ms in which one client reads 1,000 random rows; `options` name the list and what else is read. */
export const readTime = (server: Server, options: object): Promise<number> =>
  medianTime((body) => server.post(path, body), options)

/** The same of another way to read the rows of a body. */
export async function medianTime(
  read: (body: string) => Promise<unknown>,
  options: object = {},
): Promise<number> {
  const body = JSON.stringify({ ...options, payload: someKeys(1000, storedRows) })
  const times: number[] = []
  for (let count = 0; count < soloReads; count++) times.push(await timed(() => read(body)))
  return median(times)
}

/** Reads of prices by 8 clients. */
export const readWorkloads: Workload[] = [
  readWorkload(1, { ratio: 1.6, of: 'naive' }, { ratio: 1, of: 'naive' }),
  readWorkload(100, { ratio: 0.75, of: 'floor' }),
  readWorkload(1000, { ratio: 0.85, of: 'floor' }),
]
