import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import { findPostgresUser, locateBinaries } from '../../src/database/embedded/binaries.ts'
import { query } from './database.ts'

/** A standby of an embedded PostgreSQL that stays as the server is when `start` is called. */
export function aStandby(t: Test, primaryUrl: string) {
  const home = mkdtempSync(join(tmpdir(), 'pricewell-standby-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  const folder = join(home, 'data')
  const address = new URL(primaryUrl)
  address.searchParams.set('host', folder)
  const url = address.toString()
  const start = async () => {
    await copyData(primaryUrl, folder)
    startServer(t, folder)
    while (!(await responds(url))) await sleep(50)
  }
  return { url, start }
}

async function copyData(url: string, folder: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows: settings } = await client.query('show data_directory')
  const from = settings[0].data_directory
  await client.query(`select pg_backup_start('standby', true)`)
  execFileSync('cp', ['-a', from, folder])
  const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
  execFileSync('cp', ['-a', join(from, 'pg_wal'), folder])
  await client.end()
  rmSync(join(folder, 'postmaster.pid'))
  const [label, signal] = [join(folder, 'backup_label'), join(folder, 'standby.signal')]
  writeFileSync(label, rows[0].labelfile)
  writeFileSync(signal, '')
  execFileSync('chown', ['--reference', folder, label, signal])
}

function startServer(t: Test, folder: string): void {
  const user = findPostgresUser()
  execFileSync('chmod', ['go+x', join(folder, '..')])
  const options = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${folder}`]
  const binary = join(locateBinaries(user), 'bin', 'postgres')
  const server = spawn(binary, ['-D', folder, ...options], { ...user, env: {}, stdio: 'ignore' })
  t.teardown(async () => {
    server.kill('SIGQUIT')
    await once(server, 'exit')
  })
}

const responds = (url: string) =>
  query(url, 'select').then(
    () => true,
    () => false,
  )
