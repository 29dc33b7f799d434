import { createRequire } from 'node:module'
import t from 'tap'
import { startCollector } from '../helpers/collector.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { captureLog } from '../helpers/log.ts'
import { metricsToken, startTestService } from '../helpers/service.ts'
import { select } from '../helpers/sql.ts'

const log = captureLog(t)
const { cache } = createRequire(import.meta.url)
const isLoaded = (name: string) => Object.keys(cache).some((path) => path.includes(`/${name}/`))

t.test('what nobody asked for is not even loaded', async (t) => {
  const service = await startTestService(t, { METRICS_TOKEN: '' })
  t.equal((await service.app.inject('/health/ready')).statusCode, 200)
  for (const name of ['prom-client', '@opentelemetry']) t.notOk(isLoaded(name), name)
})

t.test('requests, their statements and jobs are spans of a trace', async (t) => {
  const collector = await startCollector(t)
  const service = await startTestService(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    LOG_LEVEL: 'info',
  })
  t.ok(isLoaded('@opentelemetry'))
  const { shop, job } = await aBigJob(t, service)
  await shop.finished(job)
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const parent = 'b7ad6b7169203331'
  const answer = await shop.send('GET', '/api/v1/price_list/', undefined, {
    traceparent: `00-${traceId}-${parent}-01`,
  })
  await select(service.url, 'alter table sales rename column code to code_away')
  const broken = await shop.get('/api/v1/sales_history/')
  t.equal(broken.status, 500)
  await service.app.inject('/health/live')
  await service.close()
  const spans = collector.spans()

  const request = spans.find(({ traceId: id, name }) => id === traceId && name === 'listPriceLists')
  t.match(request, {
    parentSpanId: parent,
    isError: false,
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/api/v1/price_list/',
      'http.response.status_code': 200,
      'pricewell.account': shop.id,
      'pricewell.request_id': answer.headers['x-request-id'],
    },
  })
  const statements = spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId)
  const texts = statements.map(({ attributes }) => String(attributes['db.query.text']))
  t.ok(
    texts.some((text) => text.includes('"price_lists"')),
    'the statement of the request is its child',
  )
  t.ok(statements.every((one) => one.traceId === traceId))
  const line = log.lines().find(({ request_id }) => request_id === answer.headers['x-request-id'])
  t.equal(line?.trace_id, traceId, 'the log names the trace')

  const run = spans.find(({ name }) => name === 'job add-products')
  t.match(run, { attributes: { 'pricewell.account': shop.id, 'pricewell.job': job.id } })
  t.ok(
    spans.some(({ parentSpanId }) => parentSpanId === run?.spanId),
    'a job has statements',
  )

  t.match(
    spans.find(({ name }) => name === 'listSales'),
    { isError: true, attributes: { 'http.response.status_code': 500 } },
  )
  t.ok(
    spans.some(
      ({ isError, attributes }) => isError && attributes['db.response.status_code'] === '42703',
    ),
    'a statement that failed names its SQLSTATE',
  )
  t.notOk(
    spans.some(({ name }) => name === 'readLiveness'),
    'probes are no traces',
  )
  t.notMatch(collector.text(), metricsToken)
})

t.test('a collector that is away holds nobody up', async (t) => {
  const service = await startTestService(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })
  const account = await service.newAccount(t)
  t.equal((await account.get('/api/v1/price_list/')).status, 200)
  await service.close()
})
