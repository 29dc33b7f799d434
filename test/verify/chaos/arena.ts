import { randomBytes } from 'node:crypto'
import { databaseUrl } from '../../../src/database/server.ts'
import { query } from '../../helpers/database.ts'
import { collectTeardowns } from '../../helpers/leave-nothing.ts'
import { isAlive, type ServiceProcess, startProcess } from '../../helpers/process.ts'
import { select } from '../../helpers/sql.ts'
import { userToken } from '../../helpers/user-token.ts'
import type { Cluster } from './cluster.ts'
import { type Outages, recordOutages } from './outages.ts'
import type { Random } from './random.ts'

/** The place of one run: a database of its own, service processes, and the faults found so far. */
export interface Arena {
  cluster: Cluster
  /** Connects as the owner of the tables. */
  databaseUrl: string
  random: Random
  outages: Outages
  faults: string[]
  /** Factor for promised times; above 1 where the machine is busy with other tests. */
  timeFactor: number
  /** Starts a service process; by default it answers requests and runs jobs. */
  start(settings?: Record<string, string>): Promise<ServiceProcess>
  token(account: number): Promise<string>
  /** Runs `work` at the end, last registered first. */
  teardown(work: () => unknown): void
  /** Runs the teardowns; their errors become faults. */
  close(): Promise<void>
}

const template = 'pricewell_test_template'
const jwtSecret = randomBytes(48).toString('base64')

/** Opens an arena on `cluster`. `isEmpty`: the database is not migrated yet. */
export async function openArena(
  cluster: Cluster,
  random: Random,
  { isEmpty = false, timeFactor = 1 } = {},
): Promise<Arena> {
  const name = `chaos_${randomBytes(6).toString('hex')}`
  await query(cluster.url, `create database ${name} ${isEmpty ? '' : `template ${template}`}`)
  const url = databaseUrl(cluster.url, name)
  const faults: string[] = []
  const { teardown, takeAway } = collectTeardowns()
  teardown(() => query(cluster.url, `drop database if exists ${name} with (force)`))
  const start = async (settings: Record<string, string> = {}) => {
    const environment = {
      DATABASE_URL: url,
      JWT_SECRET: jwtSecret,
      LOG_LEVEL: 'error',
      ...settings,
    }
    return startProcess({ teardown }, environment)
  }
  const close = async () => {
    for (const error of await takeAway())
      faults.push(`something is left: ${(error as Error).stack}`)
  }
  const secret = new TextEncoder().encode(jwtSecret)
  const token = (account: number) => userToken(secret, { id: 1, account })
  const outages = recordOutages()
  return {
    cluster,
    databaseUrl: url,
    random,
    outages,
    faults,
    timeFactor,
    start,
    token,
    teardown,
    close,
  }
}

/** Creates an account; returns its id. */
export async function createAccount(url: string): Promise<number> {
  const name = randomBytes(8).toString('hex')
  const [row] = await select(url, 'insert into accounts (name) values ($1) returning id', [name])
  return Number(row.id)
}

/** Notes a process that died by itself. */
export function expectAlive({ faults }: Arena, service: ServiceProcess): void {
  if (!isAlive(service.pid)) faults.unshift(`a process died: ${service.stderr().slice(-2000)}`)
}
