import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { logTo } from '../../src/http/request-log.ts'
import { cloneDatabase, query } from '../helpers/database.ts'
import { caller, childEnvironment } from '../helpers/process.ts'
import { jwtSecret } from '../helpers/service.ts'

/** Gives a program a terminal. */
const terminal = '/usr/bin/script'

t.test(
  'lines that nobody reads are lost from some megabytes on, and later ones are not',
  async (t) => {
    let read = ''
    let isStopped = true
    let readOn = () => {}
    const output = new Writable({
      write: (chunk, _encoding, done) => {
        read += chunk
        if (isStopped) readOn = done
        else done()
      },
    })
    const log = logTo(output)
    const line = `${'x'.repeat(1023)}\n`
    for (let count = 0; count < 20_000; count++) log.write(line)
    t.ok(output.writableLength > 1_000_000, `${output.writableLength} bytes are kept`)
    t.ok(output.writableLength < 8_000_000, `no more than ${output.writableLength} bytes are kept`)
    isStopped = false
    const drained = new Promise((resolve) => output.once('drain', resolve))
    readOn()
    await drained
    log.write('later\n')
    t.match(read, /x\nlater\n$/)
  },
)

t.test(
  'a terminal that is stopped holds up no request',
  { skip: !existsSync(terminal) },
  async (t) => {
    // Below the ports that the system gives to others.
    const port = 20_000 + (process.pid % 10_000)
    const database = await cloneDatabase()
    const settings = { PORT: String(port), DATABASE_URL: database.url, JWT_SECRET: jwtSecret }
    const command = `${process.execPath} src/server.ts`
    // Its own output is never read: it reads no more of the service's when that is full.
    const child = spawn(terminal, ['-qfc', command, '/dev/null'], {
      env: childEnvironment(settings),
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    t.teardown(async () => {
      process.kill(-(child.pid as number), 'SIGKILL')
      await query(database.serverUrl, `drop database ${database.name} with (force)`)
    })
    const call = caller(() => `http://127.0.0.1:${port}`)
    while (!(await call('GET', '/health/live').catch(() => undefined))) {
      if (child.exitCode !== null) throw new Error(`exited with ${child.exitCode}`)
      await sleep(50)
    }
    for (let line = 0; line < 1500; line++) await call('GET', '/api/v1/jobs/')
    t.equal((await call('GET', '/health/live')).status, 200)
  },
)
