import { setTimeout as sleep } from 'node:timers/promises'
import type { InAccount, Schemas } from '../contract/operation.ts'
import { jobNotFound, listJobsById } from './job-info.ts'

/** A look that has not begun: others may still join it. */
interface Look {
  ids: Set<number>
  jobs: Promise<Map<number, Schemas['Job']>>
}

/**
 * Looks at jobs that many watch: whoever of an account wants to see one within `gatherMs` sees them by the same
 * statement. By one each, two thousand streams would ask for all that the database can do.
 */
export class SharedLooks {
  readonly #gatherMs: number
  readonly #next = new Map<number, Look>()

  constructor(gatherMs: number) {
    this.#gatherMs = gatherMs
  }

  /** The job as it is after `gatherMs` at most; throws `not-found`. */
  async at(account: number, id: number, inAccount: InAccount): Promise<Schemas['Job']> {
    const look = this.#next.get(account) ?? this.#begin(account, inAccount)
    look.ids.add(id)
    return (await look.jobs).get(id) ?? jobNotFound()
  }

  #begin(account: number, inAccount: InAccount): Look {
    const ids = new Set<number>()
    const look = { ids, jobs: this.#run(account, ids, inAccount) }
    this.#next.set(account, look)
    return look
  }

  async #run(account: number, ids: Set<number>, inAccount: InAccount) {
    await sleep(this.#gatherMs)
    this.#next.delete(account)
    const jobs = await inAccount((trx) => listJobsById(trx, account, [...ids]))
    return new Map(jobs.map((job) => [job.id, job]))
  }
}
