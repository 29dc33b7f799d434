import { el, name } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { table } from '../table.js'

/** @typedef {import('../api.js').Schemas['JobSummary']} JobSummary */

const kinds = {
  'add-products': 'Add products to',
  'remove-products': 'Remove products from',
  'sync-with-catalog': 'Sync with the catalog:',
  revert: 'Undo changes of',
  'make-plan': 'Plan a change of',
  'apply-plan': 'Apply a plan to',
}
/** @type {Record<string, string>} */
const files = {
  upsertProducts: 'Load products',
  addProducts: 'Load products to add to',
  removeProducts: 'Load products to remove from',
  updatePrices: 'Load prices of',
  updateDynamicAttributes: 'Load attributes of',
  upsertPromotions: 'Load promotions',
  upsertSales: 'Load sales',
  upsertCompetitorPrices: 'Load competitor prices',
  upsertAgreements: 'Load agreements',
}

/**
 * Running and ended jobs, with states that update in place.
 *
 * @param {JobSummary[]} jobs
 * @param {import('./jobs.js').States} states
 * @param {import('../table.js').Order} order
 */
export function jobTable(jobs, states, order) {
  return table({
    caption: 'Jobs',
    order,
    rows: jobs,
    columns: [
      { label: 'Work', sort: ({ kind }) => kind, cell: workOf },
      { label: 'Job', sort: ({ id }) => id, cell: ({ id }) => String(id), isWide: true },
      { label: 'Progress', cell: ({ id }) => states.get(id)?.element },
      {
        label: 'Started',
        sort: ({ created_at }) => created_at,
        cell: ({ created_at }) => time(created_at),
        isWide: true,
      },
      {
        label: 'Took',
        sort: took,
        cell: (job) => (job.finished_at ? format.duration(took(job)) : '–'),
        isNumber: true,
        isWide: true,
      },
    ],
  })
}

/** @param {JobSummary} job */
function workOf({ kind, operation = '', created_at, ...list }) {
  const work = kind === 'load-file' ? (files[operation] ?? 'Load a file') : kinds[kind]
  return [
    el('span', {}, `${work} `, listOf(list)),
    el('span', { class: 'sub narrow' }, time(created_at)),
  ]
}

/** @param {Pick<JobSummary, 'price_list_id' | 'price_list_name'>} job */
function listOf({ price_list_id, price_list_name }) {
  if (price_list_id === undefined) return ''
  if (price_list_name === undefined) return 'a list that is gone'
  return el('a', { href: href(`lists/${price_list_id}`) }, name(price_list_name))
}

/** @param {string} timestamp */
function time(timestamp) {
  return el('time', { datetime: timestamp }, format.moment(timestamp))
}

/** @param {JobSummary} job */
function took({ created_at, finished_at }) {
  return finished_at ? Date.parse(finished_at) - Date.parse(created_at) : 0
}
