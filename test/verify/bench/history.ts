import { createList, storedRows } from './fill.ts'
import { updateBody, updatePath } from './lists.ts'
import { timed, type Workload } from './measure.ts'
import { readTime } from './reads.ts'
import type { Bench, Service } from './servers.ts'

const listName = 'History'
const named = { price_list_name: listName }
/** Of 11 one changes a tenth of the list, the others a hundredth: in 30 days four of five rows have changed. */
const revisions = 110
const hoursBetween = 16
const day = 86_400_000

let history: Promise<number> | undefined

/** A list of all products with 73 days of changes. Returns its id. */
function prepare({ ours }: Bench): Promise<number> {
  history ??= fillHistory(ours)
  return history
}

async function fillHistory(service: Service): Promise<number> {
  const { sql } = service
  await createList(service, listName)
  const body = JSON.stringify(named)
  await service.postToEnd('/api/v1/prices/sync_with_catalog/', body)
  for (let made = 0; made < revisions; made++)
    await service.post(updatePath, updateBody(storedRows / (made % 11 === 0 ? 10 : 100), listName))
  const { rows } = await sql.query('select id::integer, version from price_lists where name = $1', [
    listName,
  ])
  const [{ id, version }] = rows
  await sql.query(
    `update list_revisions set at = at - ($2 - revision) * $3 * interval '1 hour' where price_list_id = $1`,
    [id, version, hoursBetween],
  )
  return id
}

const present = 'read 1,000 of a list with 110 revisions'

const readWorkload: Workload = {
  rows: [
    { name: present, unit: 'ms' },
    { name: `${present}, as of 30 days ago`, unit: 'ms', goal: { ratio: 1.4, of: present } },
    { name: `${present}, with the lowest price`, unit: 'ms', goal: { ratio: 3, of: present } },
  ],
  prepare,
  ours: async ({ ours }) => [
    await readTime(ours, named),
    await readTime(ours, { ...named, as_of: new Date(Date.now() - 30 * day).toISOString() }),
    await readTime(ours, { ...named, include: ['lowest_price'] }),
  ],
}

const change = 'change 100,000 prices'

const revertWorkload: Workload = {
  rows: [
    { name: change, unit: 'ms' },
    { name: `${change}, revert`, unit: 'ms', goal: { ratio: 1.2, of: change } },
  ],
  prepare,
  ours: async (bench) => {
    const id = await prepare(bench)
    const body = updateBody(storedRows, listName)
    let revision = 0
    const changed = await timed(async () => {
      const head = await bench.ours.post(updatePath, body)
      revision = Number(/\r\nprice-list-revision: (\d+)/i.exec(head)?.[1])
    })
    const revert = JSON.stringify({ revision })
    const reverted = await timed(() =>
      bench.ours.postToEnd(`/api/v1/price_list/${id}/revert/`, revert),
    )
    return [changed, reverted]
  },
}

/** What the past costs: reads of it, and taking a change back. */
export const historyWorkloads: Workload[] = [readWorkload, revertWorkload]
