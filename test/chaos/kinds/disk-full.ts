import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPostgresUser } from '../../../src/database/embedded/system-user.ts'
import { createTemplate, query } from '../../helpers/database.ts'
import { type Arena, openArena } from '../arena.ts'
import { type Cluster, createCluster } from '../cluster.ts'
import { type Kind, underLoad } from '../kind.ts'
import type { Load } from '../load.ts'
import { mountSmallDisk, noSmallDisk, type SmallDisk } from '../small-disk.ts'
import type { Tenant } from '../tenant.ts'
import { expectUsable } from '../usable.ts'

/** The disk of the tables has not a block left for a while. */
export const diskFull: Kind = {
  name: 'disk-full',
  isQuick: false,
  impossible: noSmallDisk,
  run: async (arena) => {
    const disk = mountSmallDisk(384)
    arena.teardown(() => disk.unmount())
    await moveDatabase(arena, disk)
    await underLoad(arena, async (_service, load) => {
      await sleep(arena.random.integer(100, 1000))
      disk.fill()
      await expectReadOnly(arena, load)
      await sleep(arena.random.integer(0, 3000))
      disk.free()
      await expectUsable(arena, load)
      await sleep(500)
    })
  },
}

/** The whole data directory is on the full disk: PostgreSQL crashes, and is started again when there is space. */
export const journalDiskFull: Kind = {
  name: 'disk-full-journal',
  isQuick: false,
  impossible: noSmallDisk,
  run: async (outer) => {
    const disk = mountSmallDisk(512)
    outer.teardown(() => disk.unmount())
    const cluster = createCluster(disk.path)
    outer.teardown(() => cluster.remove())
    await cluster.start()
    await createTemplate(cluster.url)
    const arena = { ...(await openArena(cluster, outer.random)), faults: outer.faults }
    outer.teardown(() => arena.close())
    await underLoad(arena, async (_service, load) => {
      disk.fill()
      for (const tenant of load.tenants)
        while ((await write(tenant, 0)).status !== 503) await sleep(10)
      await sleep(arena.random.integer(0, 5000))
      disk.free()
      await untilRestarted(cluster)
      await expectUsable(arena, load)
      await sleep(500)
    })
  },
}

/** PostgreSQL may stand yet and crash of the full disk a moment later: whenever it is found down it is started. */
async function untilRestarted(cluster: Cluster): Promise<void> {
  const again = setInterval(() => {
    if (!cluster.isRunning()) cluster.spawn()
  }, 50)
  await cluster.ready().finally(() => clearInterval(again))
}

async function moveDatabase({ cluster, databaseUrl, teardown }: Arena, { path }: SmallDisk) {
  const name = new URL(databaseUrl).pathname.slice(1)
  const folder = join(path, 'tables')
  mkdirSync(folder)
  const user = findPostgresUser()
  if (user) chownSync(folder, user.uid, user.gid)
  await query(cluster.url, `create tablespace ${name} location '${folder}'`)
  await query(cluster.url, `alter database ${name} set tablespace ${name}`)
  teardown(async () => {
    await query(cluster.url, `drop database ${name} with (force)`)
    await query(cluster.url, `drop tablespace ${name}`)
  })
}

/** Writes that need space are refused (the client checks how), and reads are answered. */
async function expectReadOnly({ faults }: Arena, { tenants }: Load): Promise<void> {
  for (const [index, tenant] of tenants.entries()) {
    while ((await write(tenant, index)).status !== 503) await sleep(10)
    const body = { price_list_name: 'stable', payload: [{ country: 'UK' }] }
    const { status } = await tenant.send('POST', '/api/v1/prices/get_prices/', body)
    if (status !== 201) faults.push(`a reader got ${status}`)
  }
}

let written = 0

function write({ send, ledger }: Tenant, index: number) {
  const name = `F${index}x${written++}`
  const rows = Array.from({ length: 5000 }, (_, row) => ({
    ...{ transaction_id: `${name}-${row}`, code: name, extension: '' },
    ...{ quantity: '1', revenue: '1' },
  }))
  const batch = { rows: rows.length, isAcknowledged: false }
  ledger.sales.set(name, batch)
  return send('POST', '/api/v1/sales_history/bulk_create_or_update', rows).then((answer) => {
    batch.isAcknowledged = answer.status === 201
    return answer
  })
}
