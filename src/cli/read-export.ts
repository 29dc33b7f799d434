import type { PricewellClient } from '../client/index.ts'
import { Failed } from './faults.ts'
import { type CollectionKind, collections } from './kinds.ts'

/** What to read, and as what. */
export interface Export {
  kind: CollectionKind
  list: string | undefined
  date: string | undefined
  format: 'csv' | 'ndjson'
}

const quote = 0x22
const lineEnd = 0x0a
const mediaTypes = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

/** All that matches, in pieces as they come, and how many rows to expect. */
export async function openExport(
  client: PricewellClient,
  { kind, list, date, format }: Export,
): Promise<{ total: number; chunks: AsyncIterable<Uint8Array> }> {
  const id = list === undefined ? undefined : await findList(client, list)
  // Every collection is read alike; the types of one stand for all.
  const { path, query } = collections[kind] as typeof collections.prices
  const params = { path: { id: id ?? 0 }, query: { ...query, ...(date !== undefined && { date }) } }
  const counted = { ...params, query: { ...params.query, limit: 1 } }
  const { count } = (await client.GET(path, { params: counted })).data
  const headers = { accept: `${mediaTypes[format]}, application/problem+json;q=0.5` }
  const { data } = await client.GET(path, { params, headers, parseAs: 'stream' })
  return { total: count, chunks: data as ReadableStream<Uint8Array> }
}

async function findList({ GET }: PricewellClient, name: string): Promise<number> {
  const { data } = await GET('/api/v1/price_list/', { params: { query: { name } } })
  const [list] = data.results
  if (!list) throw new Failed(`There is no price list "${name}".`)
  return list.id
}

/** The same pieces; `onRows` is told how many rows have passed. */
export async function* countingRows(
  chunks: AsyncIterable<Uint8Array>,
  format: Export['format'],
  onRows: (rows: number) => void,
): AsyncGenerator<Uint8Array> {
  let rows = format === 'csv' ? -1 : 0
  let isQuoted = false
  for await (const chunk of chunks) {
    for (const byte of chunk) {
      if (byte === quote && format === 'csv') isQuoted = !isQuoted
      else if (byte === lineEnd && !isQuoted) rows++
    }
    yield chunk
    onRows(rows)
  }
}
