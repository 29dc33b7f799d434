import { closedLoop, type Next, type Outcome, openLoop, percentile } from './goodput.ts'
import type { Report } from './report.ts'
import type { LoadedService } from './service.ts'
import { openShop } from './shop.ts'

const rounds = 3
const roundMs = 2000
/** Connections at which the service has as much to do as it can. */
const saturating = 16

/** All of them clients that send their next request as soon as they are refused. */
const impatient = 1000

/** What is left of the peak when four times as much is asked for, and what becomes of the rest. */
export async function measureOverload(service: LoadedService, report: Report): Promise<void> {
  const shops = await Promise.all([1, 2, 3, 4].map(() => openShop(service)))
  await measure('reads of 100 prices', taking(shops.map((shop) => shop.read(100))))
  await measure('writes of 100 sales', taking(shops.map((shop) => shop.sales(100))))

  async function measure(name: string, next: Next): Promise<void> {
    await closedLoop(service.port, next, saturating, roundMs)
    const shares: number[] = []
    const sharesOfImpatient: number[] = []
    const costs: number[] = []
    const overloaded: Outcome[] = []
    for (let one = 0; one < rounds; one++) {
      const peak = await costOf(() => closedLoop(service.port, next, saturating, roundMs))
      const more = await costOf(() => openLoop(service.port, next, 4 * peak.goodput, roundMs))
      shares.push(more.goodput / peak.goodput)
      const storm = await closedLoop(service.port, next, impatient, roundMs)
      sharesOfImpatient.push(storm.goodput / peak.goodput)
      costs.push(peak.cpuMsEach / more.cpuMsEach)
      overloaded.push(more)
      report.figure(`${name}: peak`, peak.goodput, '/s')
      report.figure(`${name}: goodput at 4 times that`, more.goodput, '/s')
    }
    report.figure(`${name}: share of the peak, median`, percentile(shares, 0.5), '')
    // On a machine that has other things to do this says more: it is the share when the processor is the service's own.
    report.figure(`${name}: share of the peak by processor time`, percentile(costs, 0.5), '')
    const ofImpatient = `${name}: share of the peak, ${impatient} connections that never pause`
    report.figure(ofImpatient, percentile(sharesOfImpatient, 0.5), '')
    const refusedMs = overloaded.flatMap((outcome) => outcome.refusedMs)
    const servedMs = overloaded.flatMap((outcome) => outcome.servedMs)
    for (const share of [0.5, 0.99]) {
      report.figure(`${name}: refused after, p${share * 100}`, percentile(refusedMs, share), 'ms')
      report.figure(`${name}: served after, p${share * 100}`, percentile(servedMs, share), 'ms')
    }
    const statuses = [...new Set(overloaded.flatMap((outcome) => Object.keys(outcome.statuses)))]
    const known = new Set(['201', '429', '503'])
    report.holds(
      `${name}: done or refused, nothing else (${statuses})`,
      statuses.every((status) => known.has(status)),
    )
  }

  async function costOf(load: () => Promise<Outcome>): Promise<Outcome & { cpuMsEach: number }> {
    const before = service.cpuMs()
    const outcome = await load()
    return { ...outcome, cpuMsEach: (service.cpuMs() - before) / outcome.done }
  }
}

/** The requests in turns. */
function taking(requests: Buffer[]): Next {
  let sent = 0
  return () => requests[sent++ % requests.length] as Buffer
}
