import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from './goodput.ts'
import { readWhile } from './isolation.ts'
import type { Report } from './report.ts'
import type { LoadedService } from './service.ts'
import { openShop, type Shop } from './shop.ts'

const megabyte = 1024 * 1024
const sockets = 2000
const seconds = 30
/** Time after which each is connected and none has been too slow yet. */
const secondOfCount = 2
const growthBytesMax = 200 * megabyte

/** What readers notice of clients that send a byte a second: half never end their headers, half their body. */
export async function measureSlowSockets(service: LoadedService, report: Report): Promise<void> {
  const shop = await openShop(service)
  const alone = await readWhile(service, shop, sleep(3000))
  const rest = service.rssBytes()
  service.forgetRssPeak()
  const slow = Array.from({ length: sockets }, (_, i) => openSlow(service, shop, i % 2 === 0))
  const trickle = async () => {
    for (let second = 0; second < seconds; second++) {
      for (const socket of slow) if (socket.writable) socket.write('x')
      await sleep(1000)
      if (second === secondOfCount) openAtFirst = slow.filter(isOpen).length
    }
  }
  let openAtFirst = 0
  const beside = await readWhile(service, shop, trickle())
  const most = service.rssPeakBytes()
  const open = slow.filter(({ closed }) => !closed)
  report.figure('p99 of reads, alone', percentile(alone.ms, 0.99), 'ms')
  report.figure('p99 of reads beside 2,000 slow sockets', percentile(beside.ms, 0.99), 'ms')
  report.figure('RSS growth', (most - rest) / megabyte, 'MB')
  report.holds(
    `in second ${secondOfCount + 1} all slow sockets are open (${openAtFirst})`,
    openAtFirst === sockets,
  )
  report.holds('all reads beside slow sockets are answered', beside.failures === 0)
  report.holds('memory beside slow sockets is bounded', most - rest < growthBytesMax)
  report.holds(
    `after ${seconds} s the slow sockets are closed (${open.length} open)`,
    open.length === 0,
  )
  for (const socket of slow) socket.destroy()
  await Promise.all(open.map((socket) => once(socket, 'close')))
}

const isOpen = ({ writable, connecting }: net.Socket) => writable && !connecting

function openSlow({ port }: LoadedService, { token }: Shop, isBody: boolean): net.Socket {
  const socket = net.connect(port, '127.0.0.1').resume()
  socket.on('error', () => undefined)
  const head = 'POST /api/v1/sales_history/bulk_create_or_update/ HTTP/1.1\r\nHost: a\r\n'
  const rest = `Authorization: jwt ${token}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n`
  socket.write(isBody ? head + rest : `${head}X: `)
  return socket
}
