import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface CollectedSpan {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: Record<string, unknown>
  isError: boolean
}

export interface Collector {
  url: string
  spans: () => CollectedSpan[]
  text: () => string
}

interface SentSpan {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: { key: string; value: Record<string, unknown> }[]
  status: { code: number }
}

/** A stand-in for an OpenTelemetry collector: OTLP/HTTP with JSON. */
export async function startCollector(t: Test): Promise<Collector> {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    bodies.push(await text(request))
    response.setHeader('content-type', 'application/json').end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    spans: () => bodies.flatMap((body) => sentSpans(body).map(collected)),
    text: () => bodies.join('\n'),
  }
}

function sentSpans(body: string): SentSpan[] {
  return JSON.parse(body).resourceSpans.flatMap(
    ({ scopeSpans }: { scopeSpans: { spans: SentSpan[] }[] }) =>
      scopeSpans.flatMap(({ spans }) => spans),
  )
}

function collected({ attributes, status, ...span }: SentSpan): CollectedSpan {
  const entries = attributes.map(({ key, value }) => [key, Object.values(value)[0]])
  return { ...span, attributes: Object.fromEntries(entries), isError: status.code === 2 }
}
