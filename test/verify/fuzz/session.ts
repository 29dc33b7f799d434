import fc from 'fast-check'
import { operations } from '../../../src/contract/document.ts'
import { findOperation, type TestResponse } from '../../helpers/conformant.ts'
import { concretePath } from '../../helpers/operations.ts'
import { bodySchema } from './contract-faults.ts'
import { chance, type Draw, oneOf } from './draw.ts'
import type { Model, PriceList, Product } from './model.ts'
import { invalidBody, invalidParameter, refusedHeaders, unreadableBody } from './mutants.ts'
import { anyKey, productPlan } from './operations/catalog.ts'
import { firstSchema } from './operations/catalog-schema.ts'
import { competitorSchemaPlan } from './operations/competitors.ts'
import { fuzzOperations } from './operations/index.ts'
import { isLarge, jobOperations, jobPlan, syncJobPlan } from './operations/jobs.ts'
import { listPlan } from './operations/price-lists.ts'
import { addPlan, candidates } from './operations/rows.ts'
import { serviceOperations } from './operations/service.ts'
import { bodiesOf, hintsOf } from './schema-arbitrary.ts'
import { freshKey, valuesOf } from './values.ts'
import {
  type Call,
  expectEqual,
  expectPlanned,
  type FuzzOperation,
  type Plan,
  type World,
} from './world.ts'

/** Requests of a session that the model checks, then requests generated from the schemas alone. */
const followed = 60
const unfollowed = 12

/** One session in this many has jobs, which are slow. */
const sessionsAJob = { ofAll: 10, ofJobs: 2 }

/** Whether a session has jobs: decided by the seed, so that a short run has at least one. */
function isBusy(seed: number, only?: string): boolean {
  if (only === undefined) return seed % sessionsAJob.ofAll === 0
  return /job/i.test(only) && seed % sessionsAJob.ofJobs === 0
}

/** The life of one account: set-up, requests checked by the model, then any body that the contract allows. */
export async function runSession(world: World, seed: number, only?: string): Promise<void> {
  await setUp(world)
  if (isBusy(seed, only)) await workInBackground(world)
  for (let step = 0; step < followed; step++) await perform(world, stepOf(world, only))
  const bodies = operations.filter(
    ({ id, hasBody }) => hasBody && id !== 'login' && (!only || id === only),
  )
  for (let step = 0; step < unfollowed && bodies.length > 0; step++)
    await sendAnyBody(world, oneOf(world.draw, bodies))
}

/** Sends a planned request, compares the answer and updates the model. */
async function perform(world: World, plan: Plan): Promise<void> {
  const { draw, model } = world
  const call = { ...plan.call, path: anySlash(draw, plan.call.path) }
  const isRepeated = model.jobs.length === 0 && isWritingPost(call) && chance(draw, 8)
  if (isRepeated) call.headers = { 'idempotency-key': draw(freshKey), ...call.headers }
  const answer = await world.send(call)
  expectPlanned(plan, answer)
  if (answer.status >= 300) return
  await plan.check?.(answer, world)
  if (isRepeated) await repeat(world, call, answer)
}

/** A repeat with the same idempotency key has the same answer and no effect; with another body it is refused. */
async function repeat({ send }: World, call: Call, first: TestResponse): Promise<void> {
  const { status, body, headers } = await send({ ...call, isRepeated: true })
  expectEqual({ status, body }, { status: first.status, body: first.body }, `${call.path} repeated`)
  expectEqual(headers['idempotent-replayed'], 'true', `${call.path} repeated: its mark`)
  const other = await send({ ...call, raw: ` ${JSON.stringify(call.body)}` })
  expectEqual(other.status, 422, `${call.path}: the key with another body`)
}

function isWritingPost({ method, path, raw }: Call): boolean {
  return method === 'POST' && raw === undefined && findOperation(method, path)?.scope === 'write'
}

/** Every path works with and without a trailing slash. */
function anySlash(draw: Draw, path: string): string {
  if (!path.startsWith('/api/') || chance(draw, 80)) return path
  const [base = '', query] = path.split('?')
  const other = base.endsWith('/') ? base.slice(0, -1) : `${base}/`
  return query === undefined ? other : `${other}?${query}`
}

async function setUp(world: World): Promise<void> {
  const { draw, model } = world
  model.codes = draw(
    fc.uniqueArray(valuesOf.string as fc.Arbitrary<string>, { minLength: 4, maxLength: 6 }),
  )
  await perform(world, firstSchema(world))
  await perform(world, productPlan(Array.from({ length: 4 }, () => plainProduct(world))))
  await perform(world, listPlan(world))
  const [list] = model.lists.values()
  if (list) await perform(world, addPlan(world, list, candidates(model, list)))
  await perform(world, competitorSchemaPlan(world))
}

function plainProduct(world: World): Record<string, unknown> {
  const { code, extensions } = anyKey(world)
  return { code, ...extensions }
}

/**
 * Products above the background threshold: jobs that finish and one that is cancelled. Then what other sessions
 * rarely do.
 */
async function workInBackground(world: World): Promise<void> {
  const { draw, model } = world
  const { extensions } = anyKey(world)
  const rows = Array.from({ length: 101 }, (_, index) => ({ code: `many ${index}`, ...extensions }))
  await perform(world, productPlan(rows))
  do await perform(world, listPlan(world))
  while (largeLists(model).length === 0)
  for (const list of largeLists(model)) {
    const products: Product[] = candidates(model, list)
    await perform(world, jobPlan(world, list, products, true))
    await perform(world, jobPlan(world, list, products, chance(draw, 50)))
    await perform(world, isLarge(model, list) ? syncJobPlan(list) : addPlan(world, list, []))
  }
  for (const { valid } of [...jobOperations, ...serviceOperations])
    await perform(world, valid(world))
}

/** Lists that all products would be added to, by a job. */
function largeLists(model: Model): PriceList[] {
  return [...model.lists.values()].filter((list) => candidates(model, list).length > 100)
}

function stepOf(world: World, only: string | undefined): Plan {
  const { draw, model } = world
  const ready = fuzzOperations.filter(
    ({ isReady, id }) => (isReady?.(model) ?? true) && !needsJob(world, id),
  )
  const focused = ready.filter(({ id }) => id === only)
  const among = focused.length > 0 && chance(draw, 70) ? focused : ready
  const weighted = among.map((operation) => ({
    weight: Math.round(operation.weight * 10),
    arbitrary: fc.constant(operation),
  }))
  return variantOf(world, draw(fc.oneof(...weighted)))
}

/** Only sessions with jobs run syncs above the background threshold. */
function needsJob({ model }: World, id: string): boolean {
  return id === 'syncWithCatalog' && [...model.lists.values()].some((list) => isLarge(model, list))
}

/** A valid request in two of three cases, else one with one error. */
function variantOf(world: World, operation: FuzzOperation): Plan {
  const { draw } = world
  const kind = draw(fc.noBias(fc.integer({ min: 0, max: 99 })))
  if (kind < 68) return operation.valid(world)
  if (kind < 82 && operation.faulty) return operation.faulty(world)
  const { call } = operation.valid(world)
  if (operation.id.startsWith('read') && /health|openapi/.test(call.path))
    return operation.valid(world)
  if (kind < 86 && operation.id !== 'login') return refusedHeaders(draw, call)
  const plan = call.body === undefined ? invalidParameter(draw, call) : brokenBody(draw, kind, call)
  return plan ?? operation.valid(world)
}

function brokenBody(draw: Draw, kind: number, call: Plan['call']): Plan | undefined {
  return kind < 89 ? unreadableBody(draw, call) : invalidBody(draw, call)
}

/** Accepts any documented answer; the client's checks hold for all. */
async function sendAnyBody(
  world: World,
  { method, path }: { method: string; path: string },
): Promise<void> {
  const { draw, model, send } = world
  const columns = [...model.columns.extensions, ...model.columns.attributes].map(({ name }) => name)
  const arbitrary = bodiesOf(bodySchema(method, path), hintsOf(model), columns)
  const own = model.agreements[0]?.id
  const target = own === undefined ? concretePath(path) : path.replace('{id}', String(own))
  await send({
    method,
    path: target,
    body: draw(arbitrary),
    isUnsettled: model.jobs.length > 0,
  } as Plan['call'])
}
