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
/** Connecting is quick; queues of 500 bulk requests are full after some seconds. */
const atPeak: Duration = { rampMs: 500, ms: 2000 }
const overPeak: Duration = { rampMs: 8000, ms: 2000 }
/** Connections that saturate the service. */
const saturating = 16

/** The share of the peak that is promised under an open-loop flood of four times the peak. */
const shareMin = 0.7

/**
 * Clients that send their next request as soon as they are answered: four times as many as at the peak, for whom 90 % are
 * promised, and far more, for whom nothing is promised.
 */
const crowds = [
  { size: 4 * saturating, shareMin: 0.9 },
  { size: 1000, shareMin: 1 / 3 },
]

/** Allowed results: success or refusal. */
const allowed = new Set(['201', '429', '503'])

/** Goodput at four times the peak, and what becomes of the rest. */
export async function measureOverload(service: LoadedService, report: Report): Promise<void> {
  const shops = await Promise.all([1, 2, 3, 4].map(() => openShop(service)))
  for (const rows of [100, 1000]) {
    const reads = shops.map((shop) => shop.read(rows))
    await measure(`reads of ${rows} prices`, alternating(reads.map((request) => () => request)))
    await measure(`writes of ${rows} sales`, alternating(shops.map((shop) => shop.sales(rows))))
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
    // On a busy machine this says more: the share per processor second of the service.
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

  /** Lower bound for the median of the shares. */
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

/** The requests of several sources, alternating. */
function alternating(sources: Next[]): Next {
  let sent = 0
  return () => (sources[sent++ % sources.length] as Next)()
}
