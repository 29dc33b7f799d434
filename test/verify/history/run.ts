import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { leaveNothing } from '../../helpers/leave-nothing.ts'
import { freshDataDir, logInFirst, startProcess } from '../../helpers/process.ts'
import { compareHistory } from './compare.ts'
import { spreadRevisions } from './lowest.ts'
import { cellsOf, dimensions, PriceListModel, sameRows, type Write } from './model.ts'
import { choices, chooseWrite, send } from './writes.ts'

/**
 * Writes a price list at random, several writers at a time, kills the service now and then and cancels jobs; then compares
 * each revision, difference, price history, lowest price and the changes with a model: `npm run test:history -- --rounds 200 --seed 1`.
 * `--calendar` does the same with two days of a calendar list.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    calendar: { type: 'boolean', default: false },
  },
})
const command = leaveNothing()
const dataDir = freshDataDir(command, 'history')
const settings = { DATA_DIR: dataDir, LOG_LEVEL: 'error' }
let service = await startProcess(command, settings)
const call = await logInFirst(service, () => service.url)
const codes = Array.from({ length: 24 }, (_, index) => `P${index + 10}`)
const model = new PriceListModel(codes)
const cells = cellsOf(values.calendar)
const choose = choices(Number(values.seed))
const counts = { writes: 0, committed: 0, refused: 0, unanswered: 0, kills: 0, cancelled: 0 }
const kinds = ['update', 'apply', 'add', 'remove', 'sync', 'revert'] as const
const committed = new Set<Write['kind']>()
const notes = new Map<string, Write>()
const answers = new Map<string, Awaited<ReturnType<typeof send>>>()

async function sendSound(path: string, body: unknown) {
  const { status, body: answer } = await call('POST', path, body)
  if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(answer)}`)
  return answer
}

const catalogPath = '/api/v1/product_catalog/bulk_create_or_update/'
const product = (code: string) => ({ code, country: 'UK', active: model.active.has(code) })
await sendSound('/api/v1/product_catalog/schema/create_schema/', {
  extensions: [{ name: 'country', type: 'string' }],
})
await sendSound(catalogPath, codes.map(product))
const list = { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' }
const [{ id }] = await sendSound('/api/v1/price_list/bulk_create/', [
  { ...list, ...(cells.isCalendar ? { is_calendar: true } : { price_dimensions: dimensions }) },
])

for (let round = 1; round <= Number(values.rounds); round++) {
  if (choose(4) === 0) await changeCatalog()
  const writers = Array.from({ length: 1 + choose(5) }, () =>
    write(chooseWrite(model, codes, choose)),
  )
  if (choose(5) === 0) await kill()
  await Promise.all(writers)
  await untilIdle()
  await follow()
  if (round % 20 === 0) console.log(`round ${round}: revision ${model.revision}`)
}
await spreadRevisions(dataDir, model, choose)
const compared = await compareHistory(call, id, { model, codes, choose, cells })
console.log(JSON.stringify({ ...counts, revisions: model.revision, ...compared }))
const { body: failed } = await call('GET', '/api/v1/jobs/?status=failed')
for (const { id } of failed.results) {
  const { errors } = (await call('GET', `/api/v1/jobs/${id}/`)).body
  if (errors[0].code === 'internal-error') throw new Error(`job ${id} met a fault of the service`)
}
const isShort = Number(values.rounds) < 100
const absent = kinds.filter((kind) => !committed.has(kind))
if (!isShort && absent.length > 0) throw new Error(`nothing was committed by ${absent}`)
await command.end(true)

async function changeCatalog(): Promise<void> {
  const code = codes[choose(codes.length)] as string
  if (!model.active.delete(code)) model.active.add(code)
  await sendSound(catalogPath, [product(code)])
}

/** Sends a write whose note says which it is. What is answered must agree with the model, too. */
async function write(given: Write): Promise<void> {
  const note = `write ${++counts.writes}`
  notes.set(note, given)
  const isCancelled = given.kind === 'sync' && choose(3) === 0
  const kills = counts.kills
  const answer = await send(call, id, given, { note, choose, isCancelled, cells }).catch(
    (error) => {
      if (kills === counts.kills) throw error
      counts.unanswered++
    },
  )
  if (isCancelled) counts.cancelled++
  if (answer) answers.set(note, answer)
}

async function kill(): Promise<void> {
  await sleep(choose(80))
  counts.kills++
  await service.kill()
  service = await startProcess(command, settings)
}

async function untilIdle(): Promise<void> {
  for (;;) {
    const { body } = await call('GET', '/api/v1/jobs/?status=progress')
    if (body.count === 0) return
    await sleep(50)
  }
}

/** Makes in the model what the revisions say that has happened. */
async function follow(): Promise<void> {
  const { body } = await call('GET', `/api/v1/price_list/${id}/revisions/?limit=1000`)
  const fresh = body.results.filter(
    ({ revision }: { revision: number }) => revision > model.revision,
  )
  const made = new Set<string>()
  for (const { revision, note } of fresh.reverse()) {
    const given = notes.get(note)
    if (!given || revision !== model.revision + 1)
      throw new Error(`revision ${revision} of "${note}" after ${model.revision}`)
    const rows = model.after(model.revision, given)
    if (revision > 1 && sameRows(rows, model.at(model.revision)))
      throw new Error(`revision ${revision} of "${note}" changes nothing: ${JSON.stringify(given)}`)
    noteUndone(given)
    model.states.push(rows)
    made.add(note)
  }
  for (const [note, answer] of answers) check(note, answer, made)
  answers.clear()
}

/** Notes what a revert, the next revision, undoes, and whether that was a mistake. */
function noteUndone(given: Write): void {
  if (given.kind !== 'revert') return
  const until = given.until === 'newest' ? model.revision : given.until
  for (let revision = given.after + 1; revision <= until; revision++) {
    if (given.isVoid) model.voided.add(revision)
    model.undoneBy.set(revision, [...(model.undoneBy.get(revision) ?? []), model.revision + 1])
  }
}

/** A write without a revision of its own was refused, or changed nothing in the revision that it answers. */
function check(
  note: string,
  { status, revision }: { status: number; revision: number | undefined },
  made: Set<string>,
) {
  const given = notes.get(note) as Write
  if (status === 503) return
  if (status >= 500) throw new Error(`"${note}" was answered ${status}: ${JSON.stringify(given)}`)
  if (status >= 400) counts.refused++
  else {
    counts.committed++
    committed.add(given.kind)
  }
  if (revision !== undefined && revision > model.revision)
    throw new Error(`"${note}" was answered revision ${revision}, which is lost`)
  if (status >= 400 && made.has(note)) throw new Error(`"${note}" was refused and made a revision`)
  if (status >= 400 || made.has(note) || revision === undefined) return
  if (!sameRows(model.after(revision, given), model.at(revision)))
    throw new Error(`"${note}" made no revision after ${revision}: ${JSON.stringify(given)}`)
}
