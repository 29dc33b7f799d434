import { setTimeout as sleep } from 'node:timers/promises'
import { backgroundThreshold } from '../../../../src/contract/operation.ts'
import { chance, oneOf } from '../draw.ts'
import type { Job, Model, PriceList, Product } from '../model.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { absentId, absentPlan, pagePlan } from './pages.ts'
import { addPlan, candidates, takeAdded } from './rows.ts'
import { takeSynced } from './sync.ts'

async function ended({ send }: World, id: number): Promise<Job> {
  for (;;) {
    const { body } = await send({ method: 'GET', path: `/api/v1/jobs/${id}/`, isUnsettled: true })
    if (body.status !== 'progress') return body
    await sleep(20)
  }
}

/** Adds many products to a list, and follows the job or cancels it. */
export function jobPlan(
  world: World,
  list: PriceList,
  products: Product[],
  isCancelled: boolean,
): Plan {
  const plan = addPlan(world, list, products)
  const check: Plan['check'] = async ({ body }, { model, send }) => {
    expectEqual(body.progress?.total, products.length, 'products of the job')
    const path = `/api/v1/jobs/${body.id}/cancel/`
    if (isCancelled) await send({ method: 'POST', path, isUnsettled: true })
    const job = await ended(world, body.id)
    if (job.status !== 'cancelled') {
      expectEqual(job.status, 'done', 'end of the job')
      takeAdded(model, list, products, job.result as number[])
    }
    model.jobs.push(job)
  }
  return { ...plan, check }
}

/** Syncs a list by a job. */
export function syncJobPlan(list: PriceList): Plan {
  const body = { price_list_name: list.name }
  return {
    call: { method: 'POST', path: '/api/v1/prices/sync_with_catalog/', body },
    status: 201,
    check: async (answer, world) => {
      const job = await ended(world, answer.body.id)
      expectEqual(job.status, 'done', 'end of the job')
      takeSynced(world.model, list, job.result as Record<string, number[]>)
      world.model.jobs.push(job)
    },
  }
}

/** Whether a sync of the list is above the background threshold. */
export function isLarge(model: Model, list: PriceList): boolean {
  const keys = new Set(candidates(model, list).map((product) => product.id))
  for (const { productId } of list.rows.values()) keys.add(productId)
  return keys.size > backgroundThreshold
}

const isReady = ({ jobs }: Model) => jobs.length > 0
const foreignJob = ({ draw, foreign }: World) => `/api/v1/jobs/${absentId(draw, foreign.job)}/`

/** Jobs that have ended. */
export const jobOperations: FuzzOperation[] = [
  {
    id: 'listJobs',
    weight: 2,
    valid: ({ draw, model }) => {
      const status = chance(draw, 40) ? oneOf(draw, ['done', 'cancelled', 'failed']) : undefined
      const all = model.jobs
        .filter((job) => status === undefined || job.status === status)
        .map(({ result: _, errors: __, revision: ___, ...summary }) => summary)
      return pagePlan(
        draw,
        '/api/v1/jobs/',
        { status },
        all.sort((a, b) => a.id - b.id),
      )
    },
  },
  {
    id: 'readJob',
    weight: 12,
    isReady,
    valid: ({ draw, model }) => {
      const job = oneOf(draw, model.jobs)
      const check = ({ body }: { body: unknown }) => expectEqual(body, job, 'job')
      return { call: { method: 'GET', path: `/api/v1/jobs/${job.id}/` }, status: 200, check }
    },
    faulty: (world) => absentPlan('GET', foreignJob(world)),
  },
  {
    id: 'readJobEvents',
    weight: 12,
    isReady,
    valid: ({ draw, model }) => {
      const job = oneOf(draw, model.jobs)
      const path = `/api/v1/jobs/${job.id}/events/`
      const check = ({ body }: { body: unknown }) =>
        expectEqual(
          body,
          `event: end\ndata: ${JSON.stringify(job)}\n\n`,
          'events of a job that has ended',
        )
      return {
        call: { method: 'GET', path, headers: { accept: 'text/event-stream' } },
        status: 200,
        check,
      }
    },
    faulty: (world) => absentPlan('GET', `${foreignJob(world)}events/`),
  },
]
