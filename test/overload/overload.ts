import {
  closedLoop,
  type Duration,
  type Ends,
  type Next,
  type Outcome,
  openLoop,
  percentile,
} from './goodput.ts'
import { probeWhile } from './probes.ts'
import type { Report } from './report.ts'
import type { LoadedService } from './service.ts'
import { openShop } from './shop.ts'

const rounds = 3
/** Connections are made soon; queues of 500 bulk requests are full after some seconds. */
const atPeak: Duration = { rampMs: 500, ms: 2000 }
const overPeak: Duration = { rampMs: 8000, ms: 2000 }
/** Connections at which the service has as much to do as it can. */
const saturating = 16

/**
 * Share of the peak that must be left at four times the peak. The load generator takes as much of the machine then as the
 * service, so that 0.5 to 0.7 are left.
 */
const shareMin = 1 / 3

/**
 * Clients that send their next request as soon as they are answered: four times as many as at the peak, with whom 0.7
 * or more was left while others had work for the machine, and far more, with whom 0.55 or more was.
 */
const crowds = [
  { size: 4 * saturating, shareMin: 1 / 2 },
  { size: 1000, shareMin: 1 / 3 },
]

/** Ends of a request that are allowed: done, or refused. */
const allowed = new Set(['201', '429', '503'])

/** What is left of the peak when four times as much is asked for, and what becomes of the rest. */
export async function measureOverload(service: LoadedService, report: Report): Promise<void> {
  const shops = await Promise.all([1, 2, 3, 4].map(() => openShop(service)))
  for (const rows of [100, 1000]) {
    const reads = shops.map((shop) => shop.read(rows))
    await measure(`reads of ${rows} prices`, inTurns(reads.map((request) => () => request)))
    await measure(`writes of ${rows} sales`, inTurns(shops.map((shop) => shop.sales(rows))))
  }

  async function measure(name: string, next: Next): Promise<void> {
    const warmUp = await closedLoop(service.port, next, saturating, atPeak)
    const ends: Ends[] = [warmUp.ends]
    const shares: number[] = []
    const sharesOfCrowds = crowds.map((crowd) => ({ ...crowd, ofCrowd: [] as number[] }))
    const costs: number[] = []
    const overloaded: Outcome[] = []
    const probesMs: number[] = []
    for (let one = 0; one < rounds; one++) {
      const peak = await costOf(() => closedLoop(service.port, next, saturating, atPeak))
      const { result: more, ms } = await probeWhile(service.port, () =>
        costOf(() => openLoop(service.port, next, 4 * peak.goodput, overPeak)),
      )
      probesMs.push(...ms)
      shares.push(more.goodput / peak.goodput)
      for (const { size, ofCrowd } of sharesOfCrowds) {
        const storm = await closedLoop(service.port, next, size, overPeak)
        ofCrowd.push(storm.goodput / peak.goodput)
        ends.push(storm.ends)
      }
      ends.push(peak.ends, more.ends)
      costs.push(peak.cpuMsEach / more.cpuMsEach)
      overloaded.push(more)
      report.figure(`${name}: peak`, peak.goodput, '/s')
      report.figure(`${name}: goodput at 4 times that`, more.goodput, '/s')
    }
    reportShare(`${name}: share of the peak`, shares, shareMin)
    // On a machine that has other things to do this says more: it is the share when the processor is the service's own.
    report.figure(`${name}: share of the peak by processor time`, percentile(costs, 0.5), '')
    for (const { size, ofCrowd, shareMin: min } of sharesOfCrowds) {
      const ofSize = `${name}: share of the peak, ${size} connections that never pause`
      reportShare(ofSize, ofCrowd, min)
    }
    const refusedMs = overloaded.flatMap((outcome) => outcome.refusedMs)
    const servedMs = overloaded.flatMap((outcome) => outcome.servedMs)
    for (const share of [0.5, 0.99]) {
      report.figure(`${name}: refused after, p${share * 100}`, percentile(refusedMs, share), 'ms')
      report.figure(`${name}: served after, p${share * 100}`, percentile(servedMs, share), 'ms')
      const probe = `${name}: probe on a new connection, p${share * 100}`
      report.figure(probe, percentile(probesMs, share), 'ms')
    }
    const all = sumOf(ends)
    const told = Object.entries(all).map(([end, count]) => `${end}: ${count}`)
    report.holds(
      `${name}: done, or told when to come again, nothing else (${told.join(', ')})`,
      Object.keys(all).every((end) => allowed.has(end)),
    )
  }

  /** The median of the shares, which may not be less than this. */
  function reportShare(name: string, shares: number[], min: number): void {
    const median = percentile(shares, 0.5)
    report.figure(`${name}, median`, median, '')
    report.holds(`${name} is at least ${min.toFixed(2)}`, median >= min)
  }

  async function costOf(load: () => Promise<Outcome>): Promise<Outcome & { cpuMsEach: number }> {
    const before = service.cpuMs()
    const outcome = await load()
    return { ...outcome, cpuMsEach: (service.cpuMs() - before) / outcome.done }
  }
}

function sumOf(counts: Ends[]): Ends {
  const sum: Ends = {}
  for (const ends of counts)
    for (const [end, count] of Object.entries(ends)) sum[end] = (sum[end] ?? 0) + count
  return sum
}

/** The requests of all of these in turns. */
function inTurns(sources: Next[]): Next {
  let sent = 0
  return () => (sources[sent++ % sources.length] as Next)()
}
