import fc from 'fast-check'
import { chance, oneOf } from '../draw.ts'
import type { StoredSale } from '../model.ts'
import { day, freshName, money, text } from '../values.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { pagePlan } from './pages.ts'

/** A decimal as sent and as read. */
interface Written {
  sent: string
  read: string
}

const decimal: fc.Arbitrary<Written> = fc
  .tuple(
    fc.integer({ min: 0, max: 999_999_999 }),
    fc.integer({ min: 0, max: 6 }),
    fc.constantFrom('', '-', '+', '00'),
  )
  .map(([digits, scale, sign]) => {
    const padded = String(digits).padStart(scale + 1, '0')
    const whole = padded.slice(0, padded.length - scale)
    const text = scale === 0 ? whole : `${whole}.${padded.slice(-scale)}`
    const isNegative = sign === '-' && digits !== 0
    return { sent: `${sign}${text}`, read: `${isNegative ? '-' : ''}${text}` }
  })

const plain = money.map((value): Written => ({ sent: String(value), read: String(value) }))

/** A timestamp as sent and as read: UTC, microseconds. */
const moment: fc.Arbitrary<Written> = fc
  .tuple(
    day.filter((date) => date > '0001-01-02' && date < '9999-12-30'),
    fc.integer({ min: 0, max: 86_399 }),
    fc.constantFrom('', '.5', '.123', ',123456', '.1234567'),
    fc.constantFrom('', 'Z', 'z', '+02:00', '-0330', '+14'),
    fc.constantFrom('T', ' ', 't'),
  )
  .map(([date, seconds, fraction, zone, separator]) => {
    const start = new Date(`${date}T00:00:00Z`).getTime() + seconds * 1000
    const local = new Date(start).toISOString().slice(0, 19)
    const [, sign, hours = '0', minutes = '0'] = /([+-])(\d\d):?(\d\d)?/.exec(zone) ?? []
    const shift = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? 1 : -1)
    const utc = new Date(start + shift * 60_000).toISOString().slice(0, 19)
    const micros = fraction.slice(1, 7).padEnd(3, '0')
    const sent = `${local.replace('T', separator)}${fraction}${zone}`
    return { sent, read: `${utc}.${micros.padEnd(micros.length > 3 ? 6 : 3, '0')}Z` }
  })

type Row = Record<string, string>

function saleRow({ draw, model }: World): { sent: Row; read: Row } {
  const [quantity, revenue] = [draw(decimal), draw(decimal)]
  const ids = [...model.sales.keys()]
  const price = chance(draw, 50) ? draw(plain) : undefined
  const at = chance(draw, 70) ? draw(moment) : undefined
  const common = {
    transaction_id: chance(draw, 30) && ids.length > 0 ? oneOf(draw, ids) : draw(freshName),
    code: oneOf(draw, model.codes),
    extension: chance(draw, 30) ? '' : draw(text),
    ...(chance(draw, 30) && { price_list_name: draw(text) }),
    ...(chance(draw, 30) && { price_dimension: draw(text) }),
    ...(chance(draw, 30) && { client_code: draw(text) }),
    ...(chance(draw, 30) && { agreement_code: draw(text) }),
    ...(chance(draw, 30) && { departure_date: chance(draw, 50) ? draw(day) : draw(moment).sent }),
    ...(chance(draw, 30) && { currency: 'EUR' }),
  }
  const written = (form: keyof Written) => ({
    ...common,
    quantity: quantity[form],
    revenue: revenue[form],
    ...(price && { active_price: price[form] }),
    ...(at && { transaction_date: at[form] }),
  })
  return { sent: written('sent'), read: written('read') }
}

function salesPlan(world: World): Plan & { rows: Row[] } {
  const drawn = Array.from({ length: world.draw(fc.integer({ min: 1, max: 4 })) }, () =>
    saleRow(world),
  )
  const sales = [...new Map(drawn.map((sale) => [sale.sent.transaction_id, sale])).values()]
  const rows = sales.map(({ sent }) => sent)
  return {
    call: { method: 'POST', path: '/api/v1/sales_history/bulk_create_or_update', body: rows },
    status: 201,
    rows,
    check: ({ body }, { model }) => {
      const created = [...body]
      for (const { read } of sales) {
        const id = model.sales.get(String(read.transaction_id))?.id ?? created.shift()
        model.sales.set(String(read.transaction_id), { id, sale: read })
      }
      expectEqual(created, [], 'ids of created sales')
    },
  }
}

function faulty(world: World): Plan {
  const { rows, ...plan } = salesPlan(world)
  const [first] = rows
  rows.push({ ...(first as Row), quantity: first?.quantity === '1' ? '2' : '1' })
  return { ...plan, status: 400, faults: [[`/${rows.length - 1}`, 'duplicate_row']] }
}

const dayOf = ({ sale }: StoredSale) => sale.transaction_date?.slice(0, 10)

export const salesOperations: FuzzOperation[] = [
  { id: 'upsertSales', weight: 5, valid: salesPlan, faulty },
  {
    id: 'listSales',
    weight: 5,
    valid: ({ draw, model }) => {
      const held = [...model.sales.values()].sort((a, b) => a.id - b.id)
      const days = held.flatMap((sale) => dayOf(sale) ?? [])
      const someDate = () => (days.length > 0 && chance(draw, 70) ? oneOf(draw, days) : draw(day))
      const code = chance(draw, 20) ? oneOf(draw, model.codes) : undefined
      const from = chance(draw, 30) ? someDate() : undefined
      const to = chance(draw, 30) ? someDate() : undefined
      const all = held
        .filter(({ sale }) => code === undefined || sale.code === code)
        .filter((sale) => from === undefined || (dayOf(sale) ?? '') >= from)
        .filter(
          (sale) => to === undefined || (dayOf(sale) !== undefined && (dayOf(sale) ?? '') <= to),
        )
      const shown = all.map(({ id, sale }) => ({ id, ...sale }))
      return pagePlan(draw, '/api/v1/sales_history/', { code, from, to }, shown)
    },
  },
]
