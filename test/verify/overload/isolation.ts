import { setTimeout as sleep } from 'node:timers/promises'
import { Connections } from './connections.ts'
import { percentile } from './goodput.ts'
import type { Report } from './report.ts'
import type { LoadedService } from './service.ts'
import { openShop, type Shop } from './shop.ts'

const uploaders = 8
const uploads = 2
const rowsOfUpload = 50_000
const pauseMs = 5

/** What a reading account notices of another that loads sales over eight connections. */
export async function measureIsolation(service: LoadedService, report: Report): Promise<void> {
  const loading = await openShop(service)
  const reading = await openShop(service)
  const alone = await readWhile(service, reading, sleep(3000))
  const connections = new Connections(service.port)
  const next = loading.sales(rowsOfUpload)
  const statuses: number[] = []
  const upload = async () => {
    for (let one = 0; one < uploads; one++) statuses.push((await connections.send(next())).status)
  }
  const loaded = Promise.all(Array.from({ length: uploaders }, upload))
  const beside = await readWhile(service, reading, loaded)
  connections.close()
  for (const share of [0.5, 0.99]) {
    const name = `reads of another account, p${share * 100}`
    report.figure(`${name}, alone`, percentile(alone.ms, share), 'ms')
    report.figure(
      `${name}, beside a bulk load over 8 connections`,
      percentile(beside.ms, share),
      'ms',
    )
  }
  report.holds('all reads beside the load are answered', beside.failures === 0)
  report.holds(
    `all uploads succeed (${[...new Set(statuses)]})`,
    statuses.every((status) => status === 201),
  )
}

/** Reads ten prices again and again until the load is done. */
export async function readWhile(
  service: LoadedService,
  shop: Shop,
  work: Promise<unknown>,
): Promise<{ ms: number[]; failures: number }> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  const connections = new Connections(service.port)
  const request = shop.read(10)
  const ms: number[] = []
  let failures = 0
  while (!isDone) {
    const reply = await connections.send(request)
    if (reply.status === 201) ms.push(reply.ms)
    else failures++
    await sleep(pauseMs)
  }
  connections.close()
  await done
  return { ms, failures }
}
