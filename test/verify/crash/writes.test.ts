import { setTimeout as sleep } from 'node:timers/promises'
import root from 'tap'
import {
  freshDataDir,
  logInFirst,
  type ServiceProcess,
  startProcess,
} from '../../helpers/process.ts'

const batchRows = 2000
/** TEST_LONG=1: three times. */
const crashes = process.env.TEST_LONG === '1' ? 3 : 1
const writers = 4
const path = '/api/v1/sales_history/bulk_create_or_update'
const settings = { DATA_DIR: freshDataDir(root), LOG_LEVEL: 'error' }
let service: ServiceProcess = await startProcess(root, settings)
const call = await logInFirst(service, () => service.url)

function batch(name: string): object[] {
  return Array.from({ length: batchRows }, (_, index) => ({
    transaction_id: `${name}-${index}`,
    code: name,
    extension: '',
    quantity: '1',
    revenue: '2.50',
  }))
}

root.test(
  'what was acknowledged before a crash is there, and no batch is there in part',
  async (t) => {
    const acknowledged = new Set<string>()
    const sent = new Set<string>()
    for (let crash = 0; crash < crashes; crash++) {
      const before = acknowledged.size
      let isKilled = false
      const write = async (writer: number) => {
        for (let number = 0; !isKilled; number++) {
          const name = `C${crash}W${writer}B${number}`
          sent.add(name)
          try {
            if ((await call('POST', path, batch(name))).status === 201) acknowledged.add(name)
          } catch {
            return
          }
        }
      }
      const writing = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
      while (acknowledged.size < before + 10) await sleep(1)
      isKilled = true
      await service.kill()
      await writing
      service = await startProcess(t, settings)
    }
    const counts = new Map<string, number>()
    for (const name of sent) {
      const { body } = await call('GET', `/api/v1/sales_history/?code=${name}&limit=1`)
      counts.set(name, body.count)
    }
    for (const [name, count] of counts) {
      const expected = acknowledged.has(name) ? [batchRows] : [0, batchRows]
      t.ok(expected.includes(count), `${name}: ${count} rows`)
    }
    t.comment(`${sent.size} batches sent, ${acknowledged.size} acknowledged`)
  },
)
