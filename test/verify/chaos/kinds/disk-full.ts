import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPostgresUser } from '../../../../src/database/embedded/binaries.ts'
import { createTemplate, query } from '../../../helpers/database.ts'
import { admitted } from '../admitted.ts'
import { type Arena, openArena } from '../arena.ts'
import { type Cluster, createCluster } from '../cluster.ts'
import { type Kind, underLoad } from '../kind.ts'
import type { Load } from '../load.ts'
import { mountSmallDisk, noSmallDisk, type SmallDisk } from '../small-disk.ts'
import type { Tenant } from '../tenant.ts'
import { expectUsable } from '../usable.ts'
import { aSale } from '../values.ts'

const refusedWithinMs = 60_000

/** The disk of the tables is full for a while. */
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

/** The disk of the whole data directory is full: PostgreSQL crashes, and is restarted when there is space. */
export const journalDiskFull: Kind = {
  name: 'disk-full-journal',
  isQuick: false,
  impossible: noSmallDisk,
  run: async (outer) => {
    const disk = mountSmallDisk(512)
    outer.teardown(() => disk.unmount())
    // A larger WAL would fill the disk by itself.
    const cluster = createCluster(disk.path, ['max_wal_size=128MB'])
    outer.teardown(() => cluster.remove())
    await cluster.start()
    await createTemplate(cluster.url)
    const arena = { ...(await openArena(cluster, outer.random)), faults: outer.faults }
    outer.teardown(() => arena.close())
    await underLoad(arena, async (_service, load) => {
      disk.fill()
      // The crash comes at a statement or at a COMMIT.
      for (const tenant of load.tenants)
        await untilRefused(arena, tenant, ['unavailable', 'outcome-unknown'])
      await sleep(arena.random.integer(0, 5000))
      disk.free()
      await untilRestarted(cluster)
      await expectUsable(arena, load)
      await sleep(500)
    })
  },
}

/** Restarts PostgreSQL whenever it is down, since it may crash a moment later, until it has written a checkpoint. */
async function untilRestarted(cluster: Cluster): Promise<void> {
  const again = setInterval(() => {
    if (!cluster.isRunning()) cluster.spawn()
  }, 50)
  const hasWritten = () =>
    query(cluster.url, 'checkpoint').then(
      () => true,
      () => false,
    )
  try {
    do await cluster.ready()
    while (!(await hasWritten()))
  } finally {
    clearInterval(again)
  }
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

/** Expects refused writes (the client checks how) and answered reads. */
async function expectReadOnly(arena: Arena, { tenants }: Load): Promise<void> {
  for (const tenant of tenants) {
    await untilRefused(arena, tenant, ['unavailable'])
    const body = { price_list_name: 'stable', payload: [{ country: 'UK' }] }
    const read = () => tenant.send('POST', '/api/v1/prices/get_prices/', body)
    const { status } = await admitted(arena, read)
    if (status !== 201) arena.faults.push(`a reader got ${status}`)
  }
}

/** Writes until a request is refused with one of these problems; refusals under load do not count. */
async function untilRefused({ faults }: Arena, tenant: Tenant, types: string[]): Promise<void> {
  const deadline = Date.now() + refusedWithinMs
  while (Date.now() < deadline) {
    const { body } = await write(tenant)
    if (types.includes(body?.type)) return
    await sleep(10)
  }
  faults.push(`no write was refused in ${refusedWithinMs} ms`)
}

let written = 0

function write({ send, ledger }: Tenant) {
  const name = `F${written++}`
  const rows = Array.from({ length: 5000 }, (_, index) => aSale(name, index))
  const batch = { rows: rows.length, isAcknowledged: false }
  ledger.sales.set(name, batch)
  return send('POST', '/api/v1/sales_history/bulk_create_or_update', rows).then((answer) => {
    batch.isAcknowledged = answer.status === 201
    return answer
  })
}
