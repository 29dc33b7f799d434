import { Connections } from './connections.ts'
import type { Report } from './report.ts'
import type { LoadedService } from './service.ts'
import { openShop } from './shop.ts'

const megabyte = 1024 * 1024
/** Memory that a container of 2 GB leaves for the process. */
const rssBytesMax = 2000 * megabyte
const atOnce = 4
const rowsOfBody = 100_000
/** Makes a body nearly 64 MB large. */
const padding = 440

/** Peak memory of four concurrent bodies of the largest size. */
export async function measureMemory(service: LoadedService, report: Report): Promise<void> {
  const shops = await Promise.all(Array.from({ length: atOnce }, () => openShop(service)))
  const bodies = shops.map((shop) => shop.sales(rowsOfBody, padding)())
  const bodyBytes = bodies[0]?.length ?? 0
  const rest = service.rssBytes()
  const connections = new Connections(service.port)
  service.forgetRssPeak()
  const replies = await Promise.all(bodies.map((body) => connections.send(body)))
  const most = service.rssPeakBytes()
  const statuses = replies.map(({ status }) => status)
  connections.close()
  report.figure('one body', bodyBytes / megabyte, 'MB')
  report.figure('RSS at rest', rest / megabyte, 'MB')
  report.figure('RSS with four bodies side by side', most / megabyte, 'MB')
  report.figure('growth a byte of body', (most - rest) / (atOnce * bodyBytes), 'bytes')
  report.holds('four of the largest bodies fit into 2 GB', most < rssBytesMax)
  report.holds(
    `all four are taken (${statuses})`,
    statuses.every((status) => status === 201),
  )
}
