import type { Call } from '../../helpers/process.ts'
import { type Cells, dimensions, type NewPrice, type PriceListModel, type Write } from './model.ts'

/** Chooses a whole number below another one. */
export type Choose = (below: number) => number

/** Numbers that a seed repeats. */
export function choices(seed: number): Choose {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export function chooseWrite(model: PriceListModel, codes: string[], choose: Choose): Write {
  const kind = choose(12)
  const some = codes.filter(() => choose(6) === 0)
  if (model.revision === 0 || kind === 0) return { kind: 'sync' }
  if (kind === 1) return { kind: 'add', codes: some.filter((code) => model.active.has(code)) }
  if (kind === 2) return { kind: 'remove', codes: some }
  if (kind === 3) return revert(model, choose)
  const present = [...model.at(model.revision).keys()].filter(() => choose(4) === 0)
  const cells = present.flatMap((code) =>
    dimensions
      .filter(() => choose(2) === 0)
      .map((price_dimension): NewPrice => {
        return { code, price_dimension, price: choose(6) }
      }),
  )
  return kind < 6 ? { kind: 'apply', cells, base: 0 } : { kind: 'update', cells }
}

function revert({ revision }: PriceListModel, choose: Choose): Write {
  const one = 1 + choose(revision)
  const isVoid = choose(3) === 0
  return choose(3) === 0
    ? { kind: 'revert', after: Math.max(0, revision - 1 - choose(4)), until: 'newest', isVoid }
    : { kind: 'revert', after: one - 1, until: one, isVoid }
}

interface Options {
  note: string
  choose: Choose
  /** Whether the job is cancelled. */
  isCancelled: boolean
  cells: Cells
}

interface Answered {
  status: number
  /** The revision that held after the write; not of jobs. */
  revision: number | undefined
}

/** Sends a write by one of the ways there are. */
export async function send(
  call: Call,
  id: number,
  write: Write,
  { note, choose, isCancelled, cells: { place } }: Options,
): Promise<Answered> {
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    call('POST', path, body, { 'change-note': note, ...headers })
  const keyed = (codes: string[]) => codes.map((code) => ({ code, country: 'UK' }))
  const placed = ({ code, price_dimension, price }: NewPrice): PlacedPrice => ({
    ...{ code, country: 'UK' },
    ...place(price_dimension),
    price,
  })
  const answered = async (response: ReturnType<Call>): Promise<Answered> => {
    const { status, headers } = await response
    const revision = headers['price-list-revision']
    return { status, revision: revision === undefined ? undefined : Number(revision) }
  }
  switch (write.kind) {
    case 'update':
      return answered(setPrices(post, write.cells.map(placed), choose))
    case 'apply': {
      const payload = write.cells.map(placed)
      const path = '/api/v1/prices/bulk_update_prices/?plan=true'
      const plan = await post(path, { price_list_name: 'L', payload })
      if (plan.status >= 400) return { status: plan.status, revision: undefined }
      write.base = plan.body.base_revision
      return answered(post(`/api/v1/plans/${plan.body.id}/apply/`, { skip: ['stale'] }))
    }
    case 'add':
    case 'remove': {
      const path = `/api/v1/prices/bulk_${write.kind}_products/`
      return answered(post(path, { price_list_name: 'L', payload: keyed(write.codes) }))
    }
    case 'sync': {
      const job = await post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
      if (isCancelled) await post(`/api/v1/jobs/${job.body.id}/cancel/`, undefined)
      return { status: job.status, revision: undefined }
    }
    case 'revert': {
      const { after, until, isVoid } = write
      const range = until === 'newest' ? { to_revision: after } : { revision: until }
      const options = { on_conflict: 'skip', void: isVoid }
      return answered(post(`/api/v1/price_list/${id}/revert/`, { ...range, ...options }))
    }
  }
}

type PlacedPrice = Record<string, string | number>

/** As JSON, as a file, or as a file that a job loads. */
function setPrices(
  post: (path: string, body: unknown, headers?: Record<string, string>) => ReturnType<Call>,
  cells: PlacedPrice[],
  choose: Choose,
): ReturnType<Call> {
  const path = '/api/v1/prices/bulk_update_prices/'
  const way = choose(3)
  if (way === 0 || cells.length === 0)
    return post(path, {
      price_list_name: 'L',
      payload: cells,
    })
  const lines = [Object.keys(cells[0] as PlacedPrice), ...cells.map(Object.values)]
  const file = `${lines.join('\n')}\n`
  const headers = { 'content-type': 'text/csv', ...(way === 2 && { prefer: 'respond-async' }) }
  return post(`${path}?price_list_name=L`, file, headers)
}
