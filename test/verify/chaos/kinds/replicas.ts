import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceProcess } from '../../../helpers/process.ts'
import { select } from '../../../helpers/sql.ts'
import { type Arena, expectAlive } from '../arena.ts'
import type { Kind } from '../kind.ts'
import { startLoad } from '../load.ts'
import { judge } from '../verdict.ts'

const replicas = 10
const stopsWithinMs = 30_000

/** Ten processes start at once on an empty database: all run, and each migration is applied once. */
export const startTogether: Kind = {
  name: 'ten-replicas',
  isQuick: false,
  isEmpty: true,
  run: async (arena) => {
    const services = await Promise.all(Array.from({ length: replicas }, () => arena.start()))
    for (const { url } of services) {
      const { status } = await fetch(`${url}/health/ready`)
      if (status !== 200) arena.faults.push(`ready answers ${status}`)
    }
    const applied = await select(arena.databaseUrl, 'select name from kysely_migration order by 1')
    const files = readdirSync(join(import.meta.dirname, '../../../../migrations')).sort()
    const names = applied.map(({ name }) => `${name}.ts`)
    if (names.join() !== files.join()) arena.faults.push(`migrations: ${names}`)
    const routes = arena.random.fork()
    const load = await startLoad(arena, () => routes.pick(services as Some).url)
    await sleep(1000)
    await load.settle()
    await judge(arena, load.tenants)
    await Promise.all(services.map((service) => stop(arena, service)))
  },
}

type Some = [ServiceProcess, ...ServiceProcess[]]

/** Replaces each of two processes under load, again and again; clients do not notice. */
export const rollingRestart: Kind = {
  name: 'rolling-restart',
  isQuick: false,
  run: async (arena) => {
    const services: Some = [await arena.start(), await arena.start()]
    const routes = arena.random.fork()
    const load = await startLoad(arena, () => routes.pick(services).url)
    for (let count = arena.random.integer(2, 4); count > 0; count--) {
      await sleep(arena.random.integer(100, 1500))
      services.push(await arena.start())
      const stopped = stop(arena, services[0])
      // Clients use it until they look at its readiness again.
      await sleep(arena.random.integer(0, 400))
      services.shift()
      await stopped
    }
    await load.settle()
    for (const service of services) expectAlive(arena, service)
    await judge(arena, load.tenants)
  },
}

async function stop({ faults }: Arena, service: ServiceProcess): Promise<void> {
  const began = Date.now()
  const code = await service.stop()
  const ms = Date.now() - began
  if (code !== 0 || ms > stopsWithinMs)
    faults.push(`SIGTERM: exit ${code} after ${ms} ms; ${service.stderr().slice(-1000)}`)
}
