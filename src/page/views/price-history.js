import { post } from '../api.js'
import { el, name, names, svg } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { fill } from '../states.js'
import { reducing, reductionsOf } from './reductions.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {Schemas['PriceEntry']} Entry */
/** @typedef {Schemas['PriceRow'] & { price_dimension: string, date?: string }} PriceRow */
/** @typedef {import('./reductions.js').Reduction} Reduction */
/** @typedef {Pick<Schemas['PriceRow'], 'priced' | 'lowest_price'> & { reduction?: Reduction | undefined }} Present */

const chartsMax = 8
/** The service reads this many histories at once. */
const historiesMax = 1000

/**
 * The published prices of rows over time, one chart each, up to `max`.
 *
 * @param {Schemas['PriceList']} list
 * @param {PriceRow[]} rows
 * @param {{ name: string }[]} extensions
 * @param {AbortSignal} signal
 */
export async function historyOf(list, rows, extensions, signal, max = chartsMax) {
  const shown = rows.slice(0, max)
  const payload = shown.map(({ code, price_dimension, date, ...row }) => ({
    code,
    price_dimension,
    ...(date !== undefined && { date }),
    ...Object.fromEntries(extensions.map((column) => [column.name, row[column.name]])),
  }))
  const body = { price_list_id: list.id, payload }
  const include = ['priced', 'lowest_price', 'explain']
  /** @type {[{ history: Entry[] }[], PriceRow[]]} */
  const [answer, present] = await Promise.all([
    post('/api/v1/prices/get_price_history/', body, signal),
    post('/api/v1/prices/get_prices/', { ...body, include }, signal),
  ])
  const keyOf = (/** @type {Record<string, unknown>} */ row) =>
    JSON.stringify([...extensions.map((column) => row[column.name]), row.price_dimension])
  const reductions = await reductionsOf(present, signal)
  // Rows that have left the list since `as_of` have a history and no present price.
  const presentOf = new Map(
    present.map((row) => [keyOf(row), { ...row, reduction: reductions.get(reducing(row) ?? '') }]),
  )
  const day = rows[0]?.date
  const all = async () => [
    ...(await historyOf(list, rows, extensions, signal, historiesMax)).childNodes,
  ]
  const showAll = () => void fill(section, signal, all)
  const section = el(
    'section',
    { class: 'panel' },
    el(
      'div',
      { class: 'heading' },
      el('h3', {}, 'Over time'),
      el(
        'span',
        { class: 'hint' },
        `published prices${day === undefined ? '' : ` of ${format.day(day)}`}, and the promotion in force`,
      ),
    ),
    shown.map((row, index) =>
      chart(
        list,
        titleOf(list, row, extensions),
        answer[index]?.history ?? [],
        presentOf.get(keyOf(row)),
      ),
    ),
    rows.length > max &&
      el(
        'p',
        { class: 'hint' },
        `The first ${format.count(max)} of ${format.count(rows.length)}. `,
        max < historiesMax &&
          el('button', { type: 'button', class: 'quiet', onclick: showAll }, 'Show all'),
      ),
  )
  return section
}

/**
 * @param {Schemas['PriceList']} list
 * @param {Record<string, unknown>} key
 * @param {{ name: string }[]} extensions
 */
function titleOf({ price_dimensions }, key, extensions) {
  const parts = extensions.map((column) => String(key[column.name]))
  const isNamed = price_dimensions.length > 1 || parts.length === 0
  return isNamed ? [...parts, key.price_dimension] : parts
}

/**
 * A chart with a step for each price, and below it the newest entries as a readable list.
 *
 * @param {Schemas['PriceList']} list
 * @param {unknown[]} title
 * @param {Entry[]} history
 * @param {Present | undefined} present
 */
function chart(list, title, history, present) {
  const priced = pricedOf(history, present)
  const priceOf = (/** @type {Entry} */ entry) =>
    priced.includes(entry) ? format.price(entry.price) : format.unset
  const last = history.at(-1)
  if (!last || priced.length === 0) return el('p', { class: 'hint' }, names(title), ': no prices')
  return el(
    'figure',
    { class: 'steps' },
    el('figcaption', {}, el('strong', {}, names(title)), el('output', {}, priceOf(last))),
    steps(title, priced, present),
    el(
      'details',
      {},
      el('summary', {}, format.counted(priced.length, 'price')),
      el(
        'ul',
        { class: 'plain' },
        history.toReversed().map((entry) => entryOf(list, entry, priceOf(entry))),
      ),
    ),
  )
}

/** @param {Schemas['PriceList']} list @param {Entry} entry @param {string} price */
function entryOf(list, { from, revision, kind, actor, note }, price) {
  const link = { href: href(`lists/${list.id}/revisions/${revision}`) }
  return el(
    'li',
    {},
    el('span', { class: 'value' }, price),
    ' since ',
    kind === undefined ? format.moment(from) : el('a', link, format.moment(from)),
    actor && [' by ', name(actor.name)],
    note !== undefined && [': ', name(note)],
  )
}

/** @type {(string | undefined)[]} */
const settingPrices = ['update_prices', 'reprice']

/**
 * The entries that are prices. A price that was never set reads as 0, too: the row was added, or a revert took its
 * first price back. A revert brings back a 0 only if one was set before.
 *
 * @param {Entry[]} history
 * @param {Present | undefined} present
 */
function pricedOf(history, present) {
  const firstZero = history.findIndex(
    ({ price, kind }) => price === 0 && settingPrices.includes(kind),
  )
  return history.filter(({ price, kind, to }, index) => {
    if (price > 0 || settingPrices.includes(kind)) return true
    if (to === null) return present?.priced
    return kind === 'revert' && firstZero >= 0 && firstZero < index
  })
}

const [width, height] = [600, 60]

/** The time from `x` until now. @param {number} x */
const band = (x) => svg('rect', { class: 'band', x, y: 0, width: width - x, height })

/** @param {unknown[]} title @param {Entry[]} history @param {Present | undefined} present */
function steps(title, history, { lowest_price: lowest, reduction } = {}) {
  const [first] = history
  const now = Date.now()
  const began = Date.parse(first?.from ?? '')
  const prices = history.map(({ price }) => price)
  const [cheapest, dearest] = [Math.min(...prices), Math.max(...prices)]
  const low = Math.min(cheapest, lowest?.price ?? cheapest)
  const high = Math.max(dearest, lowest?.price ?? dearest)
  const x = (/** @type {number} */ at) => ((at - began) / Math.max(now - began, 1)) * width
  const y = (/** @type {number} */ price) =>
    high === low ? height / 2 : height - 4 - ((price - low) / (high - low)) * (height - 8)
  const path = history.map(({ from, to, price }, index) => {
    const isJoined = index > 0 && history[index - 1]?.to === from
    const start = x(Date.parse(from)).toFixed(1)
    const end = x(to === null ? now : Date.parse(to)).toFixed(1)
    return `${isJoined ? `V${y(price).toFixed(1)}` : `M${start},${y(price).toFixed(1)}`}H${end}`
  })
  const line = (/** @type {string} */ d, /** @type {string} */ kind) =>
    svg('path', { d, class: kind, 'vector-effect': 'non-scaling-stroke' })
  const words =
    cheapest === dearest
      ? format.price(cheapest)
      : `${format.price(cheapest)} to ${format.price(dearest)}`
  return [
    svg(
      'svg',
      {
        viewBox: `0 0 ${width} ${height}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': `${title.join(', ')}: ${words} since ${format.moment(first?.from ?? '')}`,
      },
      reduction && band(Math.max(x(reduction.since), 0)),
      lowest && line(`M0,${y(lowest.price)}H${width}`, 'lowest'),
      line(path.join(''), 'step'),
    ),
    el(
      'p',
      { class: 'hint axis' },
      el('span', {}, format.moment(first?.from ?? '')),
      el('span', {}, words),
      el('span', {}, 'now'),
    ),
    reduction && el('p', { class: 'hint of-band' }, 'with the promotion ', name(reduction.name)),
    lowest &&
      el(
        'p',
        { class: 'hint of-lowest' },
        `lowest of 30 days before ${format.day(lowest.reduction_from)}: ${format.price(lowest.price)}`,
      ),
  ]
}
