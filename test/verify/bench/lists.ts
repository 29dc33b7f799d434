import { to as copyTo } from 'pg-copy-streams'
import { CopyingClient } from '../../../src/database/copy.ts'
import { type Database, openDatabase } from '../../../src/database/pool.ts'
import { runAddProducts } from '../../../src/price-lists/add-job.ts'
import { type BenchList, codeOf, fillCatalog, fillList } from './fill.ts'
import { type Measure, timed } from './measure.ts'
import type { BenchService } from './service.ts'

/** A published list that follows half of the catalog by a filter. */
const half = Array.from({ length: 50 }, (_, index) => `F${index}`)
const isInHalf = 'i % 100 < 50'

function wildcardMeasure(rows: number): Measure {
  let list: BenchList
  return {
    name: `wildcard read of ${rows} rows`,
    unit: 'times',
    floor: 1.6,
    aim: 1.2,
    prepare: async (service) => {
      await fillCatalog(service, rows)
      list = await fillList(service, 'Wildcards', { rows, price_dimensions: ['web', 'shop'] })
    },
    ours: (service) => {
      const payload = [{ price_dimension: 'web' }]
      const body = JSON.stringify({ price_list_name: list.name, payload })
      return timed(() => service.post('/api/v1/prices/get_prices/', body))
    },
    bare: ({ sql, account }) =>
      timed(async () => {
        const text = `
          select 'web', code, extensions[1], '${list.name}', price_list_id, product_id, id, prices[1]
          from price_list_rows where account_id = ${account} and price_list_id = ${list.id}
            and added_version <= 1 and removed_version is null
          order by code, extensions`
        for await (const _ of sql.query(copyTo(`copy (${text}) to stdout`)));
      }),
  }
}

/** Makes a hundredth of the list wrong before each round: half of it missing, half surplus. */
function syncMeasure(catalog: number): Measure {
  const lists: BenchList[] = []
  const [wrong, step] = [`i % 20000 < 200`, catalog / 2]
  const spoil = async ({ sql }: BenchService, { id }: BenchList) => {
    await sql.query(`
      delete from price_list_rows r using (select id, substr(code, 2)::integer as i from products) p
      where r.price_list_id = ${id} and r.product_id = p.id and ${wrong} and ${isInHalf}`)
    await sql.query(`
      insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
      select account_id, ${id}, id, code, extensions, extension_key, '{1}', 1
      from (select *, substr(code, 2)::integer as i from products) p where ${wrong} and not ${isInHalf}
      on conflict do nothing`)
    await sql.query('vacuum analyze price_list_rows')
  }
  return {
    name: `sync of ${catalog} products with ${step} rows, 1 % change`,
    unit: 'times',
    floor: 1.3,
    aim: 1.1,
    prepare: async (service) => {
      await fillCatalog(service, catalog)
      for (const name of ['Synchronised', 'Synchronised bare'])
        lists.push(
          await fillList(service, name, {
            rows: catalog,
            where: isInHalf,
            product_filters: { family: half },
          }),
        )
    },
    ours: async (service) => {
      await spoil(service, lists[0] as BenchList)
      return timed(async () => {
        const body = { price_list_name: 'Synchronised' }
        await service.finished(
          await service.call('POST', '/api/v1/prices/sync_with_catalog/', body),
        )
      })
    },
    bare: async (service) => {
      await spoil(service, lists[1] as BenchList)
      return timed(() => service.sql.query(bareSync(service, lists[1] as BenchList)))
    },
  }
}

/** A sync and its answer in one statement. */
function bareSync({ account }: BenchService, { id }: BenchList): string {
  return `
    with wanted as (
      select p.id, p.code, p.extensions, p.extension_key from products p
      join product_attributes a on a.account_id = p.account_id and a.code = p.code
      where p.account_id = ${account} and p.active is not false
        and a.attributes[2] = any('{${half.join(',')}}'::text[])
    ), present as (
      select id, product_id from price_list_rows
      where account_id = ${account} and price_list_id = ${id} and removed_version is null
    ), difference as materialized (
      select p.id as product_id, p.code, p.extensions, p.extension_key, r.id
      from wanted p full join present r on r.product_id = p.id
    ), added as (
      insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
      select ${account}, ${id}, product_id, code, extensions, extension_key, '{0}', 1 from difference
      where id is null order by code, extension_key
      returning id
    ), removed as (
      delete from price_list_rows where account_id = ${account} and price_list_id = ${id}
        and id in (select id from difference where product_id is null)
      returning id
    )
    select (select json_agg(id) from added) as added, (select json_agg(id) from removed) as removed,
      (select json_agg(id) from difference where id is not null and product_id is not null)::text as untouched`
}

/** The last transaction of a job: publishes the rows of the draft. */
function publishMeasure(rows: number): Measure {
  let list: BenchList
  let db: Database
  const hundredth = `price_list_id = $1 and substr(code, 2)::integer % 100 = 0`
  return {
    name: `publish 1 % of ${rows} rows`,
    unit: 'times',
    floor: 0.03,
    aim: 0.02,
    prepare: async (service) => {
      await fillCatalog(service, rows)
      list = await fillList(service, 'Published', { rows })
      db = openJobs(service)
      await service.sql.query('create table copied (like price_list_rows including all)')
    },
    ours: async ({ sql, account }) => {
      const { rows: drafted } = await sql.query(
        `update price_list_rows r set added_version = l.version + 1 from price_lists l
         where l.id = $1 and r.${hundredth} returning r.id::integer as row, r.product_id::integer as id`,
        [list.id],
      )
      await sql.query('vacuum analyze price_list_rows')
      const ids = drafted.map(({ id }) => id)
      const { rows: jobs } = await sql.query(
        `insert into jobs (account_id, price_list_id, kind, total, finished, product_ids, row_ids)
         values ($1, $2, 'add-products', $3, $3, $4, $5)
         returning account_id::integer, id::integer, price_list_id::integer, kind, total, finished`,
        [account, list.id, ids.length, ids, drafted.map(({ row }) => row)],
      )
      const [job] = jobs
      const { signal } = new AbortController()
      const attempt = { db, account, job: job.id, number: -1, signal }
      return timed(() => runAddProducts(attempt, job))
    },
    bare: async ({ sql }) => {
      await sql.query('truncate copied')
      return timed(() =>
        sql.query(
          'insert into copied overriding system value select * from price_list_rows where price_list_id = $1',
          [list.id],
        ),
      )
    },
  }
}

function openJobs({ databaseUrl }: BenchService): Database {
  return openDatabase(databaseUrl, {
    name: 'bench',
    connectionsMax: 1,
    client: CopyingClient,
    acquireTimeoutMs: 2500,
    lockTimeoutMs: 60_000,
    statementTimeoutMs: 300_000,
    // The bench stops Postgres before this connection closes.
    onError: () => undefined,
  })
}

function addMeasure(rows: number, catalog: number): Measure {
  const aList = async (service: BenchService, name: string) => {
    const list = await fillList(service, name, { rows: 0 })
    return list
  }
  return {
    name: `add ${rows} products by job`,
    unit: 'times',
    floor: 1.5,
    aim: 1.2,
    prepare: (service) => fillCatalog(service, catalog),
    ours: async (service, round) => {
      const { name } = await aList(service, `Added ${round}`)
      const payload = Array.from({ length: rows }, (_, i) => ({ code: codeOf(i), country: 'UK' }))
      const body = JSON.stringify({ price_list_name: name, payload })
      return timed(async () =>
        service.finished(await service.call('POST', '/api/v1/prices/bulk_add_products/', body)),
      )
    },
    bare: async (service, round) => {
      const { id } = await aList(service, `Added bare ${round}`)
      const text = `
        insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
        select account_id, $1, id, code, extensions, extension_key, '{0}', 1 from products
        where account_id = $2 and code < $3 order by code, extension_key
        returning id`
      return timed(() => service.sql.query(text, [id, service.account, codeOf(rows)]))
    },
  }
}

/** Reads, syncs, publishes and fills whole lists. */
export const listMeasures = (present: number): Measure[] => [
  wildcardMeasure(100_000),
  syncMeasure(present),
  publishMeasure(present),
  addMeasure(100_000, present),
]
