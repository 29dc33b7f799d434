import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { sqlStateOf } from '../database/errors.ts'
import type { StatementDone } from '../database/pool.ts'

const statementLengthMax = 2000
/** The longest that shutdown waits for the collector. */
const stopMsMax = 2000

export type Tracing = ReturnType<typeof startTracing>
export type RequestSpan = ReturnType<typeof startRequest>

/**
 * Sends spans to a collector over OTLP/HTTP. The libraries read the other variables of OpenTelemetry themselves
 * (OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES, ...).
 */
export function startTracing(collector: URL) {
  const url = `${collector.href.replace(/\/$/, '')}/v1/traces`
  const environment = detectResources({ detectors: [envDetector] })
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'pricewell' }).merge(environment),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url }))],
  })
  provider.register()
  const tracer = provider.getTracer('pricewell')
  return {
    /** `headers` may continue the trace of the client (`traceparent`). */
    startRequest: (headers: Record<string, unknown>) => startRequest(tracer, headers),
    /** Adds a statement that has ended to the current span. */
    statement: (done: StatementDone) => noteStatement(tracer, done),
    inSpan: <T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> =>
      tracer.startActiveSpan(name, { attributes }, (span) => ending(span, work)),
    /** Sends the remaining spans. */
    stop: async () => {
      const sent = provider.shutdown().catch(() => undefined)
      await Promise.race([sent, sleep(stopMsMax, undefined, { ref: false })])
      for (const global of [trace, context, propagation]) global.disable()
    },
  }
}

const headerGetter: TextMapGetter<Record<string, unknown>> = {
  keys: Object.keys,
  get: (headers, name) => {
    const value = headers[name]
    return typeof value === 'string' ? value : undefined
  },
}

function startRequest(tracer: Tracer, headers: Record<string, unknown>) {
  const parent = propagation.extract(ROOT_CONTEXT, headers, headerGetter)
  const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, parent)
  const here = trace.setSpan(parent, span)
  return {
    traceId: span.spanContext().traceId,
    /** Runs work whose spans belong to the request. */
    run: <T>(work: () => Promise<T>): Promise<T> => context.with(here, work),
    end: (name: string, attributes: Attributes) => {
      span.updateName(name).setAttributes(attributes)
      if (Number(attributes['http.response.status_code']) >= 500)
        span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

/** The statement text has placeholders instead of values. */
function noteStatement(tracer: Tracer, { text, ms, error }: StatementDone): void {
  if (!trace.getActiveSpan()) return
  const end = Date.now()
  const name = /^\s*(\w+)/.exec(text)?.[1]?.toLowerCase() ?? 'statement'
  const span = tracer.startSpan(name, {
    kind: SpanKind.CLIENT,
    attributes: { 'db.system.name': 'postgresql', 'db.query.text': short(text) },
    startTime: end - ms,
  })
  if (error !== undefined) fail(span, error)
  span.end(end)
}

async function ending<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    fail(span, error)
    throw error
  } finally {
    span.end()
  }
}

/** Records the error's class and SQLSTATE, but not its message, which may quote row values. */
function fail(span: Span, error: unknown): void {
  const state = sqlStateOf(error)
  const type = error instanceof Error ? error.constructor.name : typeof error
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttributes({ 'error.type': type, ...(state && { 'db.response.status_code': state }) })
}

function short(text: string): string {
  return text.length > statementLengthMax ? `${text.slice(0, statementLengthMax)} ...` : text
}
