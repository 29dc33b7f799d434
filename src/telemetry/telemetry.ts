import type { NodeState } from '../database/nodes.ts'
import type { PoolUse, StatementDone } from '../database/pool.ts'

/** A finished request. `operation` and `status` have few values: each combination is a time series. */
export interface RequestDone {
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

/** The metrics of this process, for Prometheus. */
export interface Metrics {
  readonly contentType: string
  request(done: RequestDone): void
  attempt(done: AttemptDone): void
  /** Counts the rows of a file that a background job has written for an operation. */
  loaded(file: { operation: string; rows: number }): void
  text(): Promise<string>
}

type Attributes = Record<string, string | number | undefined>

export interface RequestSpan {
  readonly traceId: string
  /** Runs work whose spans belong to the request. */
  run<T>(work: () => Promise<T>): Promise<T>
  end(name: string, attributes: Attributes): void
}

/** Sends spans of requests, statements and jobs to a collector, with names and counts but no row values. */
export interface Tracing {
  /** `headers` may continue the trace of the client (`traceparent`). */
  startRequest(headers: Record<string, unknown>): RequestSpan
  /** Adds a statement that has ended to the current span. */
  statement(done: StatementDone): void
  inSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T>
  /** Sends the remaining spans. */
  stop(): Promise<void>
}

/** What the operator has switched on; the libraries for the rest are not loaded. */
export interface Telemetry {
  metrics: Metrics | undefined
  tracing: Tracing | undefined
}
