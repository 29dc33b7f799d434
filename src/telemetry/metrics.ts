import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { components } from '../../generated/openapi.d.ts'
import type { NodeState } from '../database/nodes.ts'
import type { PoolUse } from '../database/pool.ts'
import type { Tracing } from './tracing.ts'

const secondsOfRequests = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const secondsOfAttempts = [0.1, 0.5, 1, 5, 15, 60, 300, 1800]

const kinds = Object.keys({
  'add-products': 0,
  'remove-products': 0,
  'sync-with-catalog': 0,
  'load-file': 0,
  revert: 0,
  'make-plan': 0,
  'apply-plan': 0,
} satisfies Record<components['schemas']['JobKind'], 0>)
const outcomes: AttemptDone['outcome'][] = ['done', 'refused', 'retried', 'failed', 'lost']

/** A finished request. `operation` and `status` have few values: each combination is a time series. */
interface RequestDone {
  /** The operation of the contract, or `none`. */
  operation: string
  status: number
  seconds: number
  rowsWritten: number
  rowsRead: number
}

/** A finished attempt at a background job. */
export interface AttemptDone {
  kind: string
  /** `refused`: its input was wrong. `lost`: the job had ended, or another worker has it. */
  outcome: 'done' | 'refused' | 'retried' | 'failed' | 'lost'
  seconds: number
}

/** Background jobs that have not ended. */
export interface QueueState {
  state: 'waiting' | 'running'
  jobs: number
  oldestSeconds: number
}

/** What each scrape of the metrics reads. */
export interface Observed {
  pools: () => Record<string, PoolUse>
  /** May fail; then the metrics of the queue are left out. */
  queue: () => Promise<QueueState[]>
  /** May fail, like `queue`. */
  nodes: () => Promise<NodeState[]>
}

/** What the operator has switched on; the libraries for the rest are not loaded. */
export interface Telemetry {
  metrics: Metrics | undefined
  tracing: Tracing | undefined
}

/** The metrics of this process, for Prometheus. */
export type Metrics = ReturnType<typeof createMetrics>

/** The counters of this process, and gauges that are read at each scrape. */
export function createMetrics({ pools, queue, nodes }: Observed) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const showPools = poolGauges(registry)
  const showQueue = queueGauges(registry)
  const showNodes = nodeGauge(registry)
  return {
    contentType: registry.contentType,
    ...requestCounters(registry),
    attempt: attemptCounters(registry),
    text: async () => {
      showPools(pools())
      showQueue(await queue().catch(() => []))
      showNodes(await nodes().catch(() => []))
      return registry.metrics()
    },
  }
}

function requestCounters(registry: Registry) {
  const registers = [registry]
  const requests = new Counter({
    name: 'pricewell_http_requests_total',
    help: 'Requests answered',
    labelNames: ['operation', 'status'],
    registers,
  })
  const duration = new Histogram({
    name: 'pricewell_http_request_duration_seconds',
    help: 'From the headers of a request to the end of its answer',
    labelNames: ['operation'],
    buckets: secondsOfRequests,
    registers,
  })
  const { written, read } = rowCounters(registry)
  return {
    request: ({ operation, status, seconds, rowsWritten, rowsRead }: RequestDone) => {
      requests.inc({ operation, status })
      duration.observe({ operation }, seconds)
      if (rowsWritten > 0) written.inc({ operation }, rowsWritten)
      if (rowsRead > 0) read.inc({ operation }, rowsRead)
    },
    /** Counts the rows of a file that a background job has written for an operation. */
    loaded: ({ operation, rows }: { operation: string; rows: number }) =>
      written.inc({ operation }, rows),
  }
}

function rowCounters(registry: Registry): Record<'written' | 'read', Counter<'operation'>> {
  const registers = [registry]
  const rows = (verb: string, help: string) =>
    new Counter({
      name: `pricewell_rows_${verb}_total`,
      help,
      labelNames: ['operation'] as const,
      registers,
    })
  return {
    written: rows('written', 'Rows of payloads and files that were written'),
    read: rows('read', 'Rows that reads answered'),
  }
}

function attemptCounters(registry: Registry) {
  const registers = [registry]
  const attempts = new Counter({
    name: 'pricewell_job_attempts_total',
    help: 'Attempts at background jobs by how they ended',
    labelNames: ['kind', 'outcome'],
    registers,
  })
  const duration = new Histogram({
    name: 'pricewell_job_attempt_duration_seconds',
    help: 'How long an attempt at a background job took',
    labelNames: ['kind'],
    buckets: secondsOfAttempts,
    registers,
  })
  // Prometheus sees a series grow only from a value that it has scraped: without 0, the first failure would raise no
  // alert.
  for (const kind of kinds) for (const outcome of outcomes) attempts.inc({ kind, outcome }, 0)
  return ({ kind, outcome, seconds }: AttemptDone) => {
    attempts.inc({ kind, outcome })
    duration.observe({ kind }, seconds)
  }
}

function poolGauges(registry: Registry): (pools: Record<string, PoolUse>) => void {
  const gauge = (name: string, help: string) => gaugeBy('pool', registry, name, help)
  const inUse = gauge('database_connections_in_use', 'Database connections that work')
  const max = gauge('database_connections_max', 'Database connections that may be open')
  const waiting = gauge('database_connections_waiting', 'Requests that wait for a connection')
  return (pools) => {
    for (const [pool, use] of Object.entries(pools)) {
      inUse.set({ pool }, use.inUse)
      max.set({ pool }, use.max)
      waiting.set({ pool }, use.waiting)
    }
  }
}

function queueGauges(registry: Registry): (queue: QueueState[]) => void {
  const gauge = (name: string, help: string) => gaugeBy('state', registry, name, help)
  const jobs = gauge('jobs', 'Background jobs of the whole service that have not ended')
  const oldest = gauge('jobs_oldest_seconds', 'Age of the oldest of them')
  return (queue) => {
    jobs.reset()
    oldest.reset()
    for (const { state, jobs: count, oldestSeconds } of queue) {
      jobs.set({ state }, count)
      oldest.set({ state }, oldestSeconds)
    }
  }
}

function nodeGauge(registry: Registry): (nodes: NodeState[]) => void {
  const help = 'Whether a node of the cluster can be reached'
  const up = gaugeBy('node', registry, 'database_node_up', help)
  return (nodes) => {
    up.reset()
    for (const { name, isUp } of nodes) up.set({ node: name }, Number(isUp))
  }
}

function gaugeBy<Label extends string>(
  label: Label,
  registry: Registry,
  name: string,
  help: string,
): Gauge<Label> {
  return new Gauge({
    name: `pricewell_${name}`,
    help,
    labelNames: [label],
    registers: [registry],
  })
}
