import { post } from '../api.js'
import { el, name, names, svg } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { reducedTimes, reductionsOf } from './reductions.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {Schemas['PriceEntry']} Entry */
/** @typedef {Awaited<ReturnType<typeof reductionsOf>>[number]} Reductions */

/** More charts than this help nobody. */
const chartsMax = 8

/**
 * The published prices of rows over time, one chart each.
 *
 * @param {Schemas['PriceList']} list
 * @param {(Schemas['PriceRow'] & { price_dimension: string, date?: string })[]} rows
 * @param {{ name: string }[]} extensions
 * @param {AbortSignal} signal
 */
export async function historyOf(list, rows, extensions, signal) {
  const shown = rows.slice(0, chartsMax)
  const payload = shown.map(({ code, price_dimension, date, ...row }) => ({
    code,
    price_dimension,
    ...(date !== undefined && { date }),
    ...Object.fromEntries(extensions.map((column) => [column.name, row[column.name]])),
  }))
  const path = '/api/v1/prices/get_price_history/'
  const [answer, reductions] = await Promise.all([
    post(path, { price_list_id: list.id, payload }, signal),
    reductionsOf(list, payload, signal),
  ])
  const titles = payload.map((key) => titleOf(list, key, extensions))
  return el(
    'section',
    { class: 'panel' },
    el(
      'div',
      { class: 'heading' },
      el('h3', {}, 'Over time'),
      el('span', { class: 'hint' }, 'published prices, and promotions as they are now'),
    ),
    answer.map((/** @type {{ history: Entry[] }} */ { history }, /** @type {number} */ index) =>
      chart(list, titles[index] ?? [], history, reductions[index]),
    ),
    rows.length > chartsMax &&
      el('p', { class: 'hint' }, `The first ${chartsMax} of ${rows.length}.`),
  )
}

/**
 * @param {Schemas['PriceList']} list
 * @param {Record<string, unknown>} key
 * @param {{ name: string }[]} extensions
 */
function titleOf({ price_dimensions }, key, extensions) {
  const parts = extensions.map((column) => String(key[column.name]))
  return [...parts, ...(price_dimensions.length > 1 ? [key.price_dimension] : [])]
}

/**
 * A chart with a step for each price, and below it the newest entries as a readable list.
 *
 * @param {Schemas['PriceList']} list
 * @param {unknown[]} title
 * @param {Entry[]} history
 * @param {Reductions | undefined} reductions
 */
function chart(list, title, history, reductions = { promotions: [], lowest: null }) {
  const last = history.at(-1)
  if (!last || history.every(isUnset))
    return el('p', { class: 'hint' }, names(title), ': no prices')
  return el(
    'figure',
    { class: 'steps' },
    el('figcaption', {}, el('strong', {}, names(title)), el('output', {}, priceOf(last))),
    steps(title, pricedOf(history), reductions),
    el(
      'details',
      {},
      el(
        'summary',
        {},
        `${format.count(history.length)} ${history.length === 1 ? 'price' : 'prices'}`,
      ),
      el(
        'ul',
        { class: 'plain' },
        history.toReversed().map((entry) => entryOf(list, entry)),
      ),
    ),
  )
}

/** @param {Schemas['PriceList']} list @param {Entry} entry */
function entryOf(list, entry) {
  const { from, revision, kind, actor, note } = entry
  const link = { href: href(`lists/${list.id}/revisions/${revision}`) }
  return el(
    'li',
    {},
    el('span', { class: 'value' }, priceOf(entry)),
    ' since ',
    kind === undefined ? format.moment(from) : el('a', link, format.moment(from)),
    actor && [' by ', name(actor.name)],
    note !== undefined && [': ', name(note)],
  )
}

/** Whether an entry only added the row, which sets no price. @param {Entry} entry */
const isUnset = ({ kind }) => kind === 'add_products' || kind === 'sync'

/** @param {Entry} entry */
const priceOf = (entry) => (isUnset(entry) ? format.unset : format.price(entry.price))

/** Drops the time before the first price, which would flatten the rest. @param {Entry[]} history */
const pricedOf = (history) =>
  history.length > 1 && history.slice(0, 1).some(isUnset) ? history.slice(1) : history

const [width, height] = [600, 60]

/** @param {unknown[]} title @param {Entry[]} history @param {Reductions} reductions */
function steps(title, history, { promotions, lowest }) {
  const [first] = history
  const now = Date.now()
  const began = Date.parse(first?.from ?? '')
  const reduced = reducedTimes(promotions, history, now)
  const prices = history.map(({ price }) => price)
  const [cheapest, dearest] = [Math.min(...prices), Math.max(...prices)]
  const low = Math.min(cheapest, lowest?.price ?? cheapest, ...reduced.map(({ price }) => price))
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
  const bands = reduced.map(({ from, to }) =>
    svg('rect', { class: 'band', x: x(from), y: 0, width: x(to) - x(from), height }),
  )
  const line = (/** @type {string} */ d, /** @type {string} */ kind) =>
    svg('path', { d, class: kind, 'vector-effect': 'non-scaling-stroke' })
  const under = reduced.map(({ from, to, price }) => `M${x(from)},${y(price)}H${x(to)}`)
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
      bands,
      lowest && line(`M0,${y(lowest.price)}H${width}`, 'lowest'),
      line(path.join(''), 'step'),
      under.length > 0 && line(under.join(''), 'promoted'),
    ),
    el(
      'p',
      { class: 'hint axis' },
      el('span', {}, format.moment(first?.from ?? '')),
      el('span', {}, words),
      el('span', {}, 'now'),
    ),
    legend([...new Set(reduced.map(({ name }) => name))], lowest),
  ]
}

/**
 * Explains the lines beside the published price.
 *
 * @param {string[]} promotions
 * @param {Reductions['lowest']} lowest
 */
function legend(promotions, lowest) {
  return el(
    'p',
    { class: 'hint legend' },
    promotions.length > 0 &&
      el('span', { class: 'of-promoted' }, 'with promotions: ', names(promotions)),
    lowest &&
      el(
        'span',
        { class: 'of-lowest' },
        `lowest of 30 days before ${format.day(lowest.reduction_from)}: ${format.price(lowest.price)}`,
      ),
  )
}
