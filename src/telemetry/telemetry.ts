import type { PoolUse, StatementDone } from '../database/pool.ts'

/** A request that was answered. Every field is one of few values: each combination is a time series for ever. */
export interface RequestDone {
  /** The operation of the contract; `none` where there is none. */
  operation: string
  status: number
  seconds: number
  rowsWritten: number
  rowsRead: number
}

/** A try at a background job that came to its end. */
export interface AttemptDone {
  kind: string
  /** `refused`: it failed by what it was given. `lost`: the job had ended, or another worker has it. */
  outcome: 'done' | 'refused' | 'retried' | 'failed' | 'lost'
  seconds: number
}

/** Background jobs that have not ended. */
export interface QueueState {
  state: 'waiting' | 'running'
  jobs: number
  oldestSeconds: number
}

/** What is looked up when the metrics are asked for. */
export interface Observed {
  pools: () => Record<string, PoolUse>
  /** May fail; then the numbers of the queue are left out. */
  queue: () => Promise<QueueState[]>
}

/** Counts what this process does, for Prometheus. */
export interface Metrics {
  readonly contentType: string
  request(done: RequestDone): void
  attempt(done: AttemptDone): void
  /** A background job has written a file for an operation. */
  loaded(file: { operation: string; rows: number }): void
  text(): Promise<string>
}

type Attributes = Record<string, string | number | undefined>

/** The span of one request. */
export interface RequestSpan {
  readonly traceId: string
  /** Runs work whose spans belong to the request. */
  run<T>(work: () => Promise<T>): Promise<T>
  end(name: string, attributes: Attributes): void
}

/** Sends spans of requests, statements and jobs to a collector. They carry names and counts, no values. */
export interface Tracing {
  /** `headers` may continue the trace of the client (`traceparent`). */
  startRequest(headers: Record<string, unknown>): RequestSpan
  /** Notes a statement that has ended in the span that is under way. */
  statement(done: StatementDone): void
  inSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T>
  /** Sends what is left. */
  stop(): Promise<void>
}

/** What the operator has asked to see; the libraries for the rest are not even loaded. */
export interface Telemetry {
  metrics: Metrics | undefined
  tracing: Tracing | undefined
}

export interface TelemetrySettings {
  metricsToken: string | undefined
  collector: URL | undefined
}

/** Counts, where the settings have a token for those who read the numbers. */
export async function startMetrics(
  { metricsToken }: TelemetrySettings,
  observed: Observed,
): Promise<Metrics | undefined> {
  if (!metricsToken) return undefined
  const { createMetrics } = await import('./metrics.ts')
  return createMetrics(observed)
}

/** Traces, where the settings name a collector. */
export async function startTracing({ collector }: TelemetrySettings): Promise<Tracing | undefined> {
  if (!collector) return undefined
  const tracing = await import('./tracing.ts')
  return tracing.startTracing(collector)
}
