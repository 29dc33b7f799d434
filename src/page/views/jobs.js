import { get, jobEvents } from '../api.js'
import { el, name } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty, fill } from '../states.js'
import { newOrder, table } from '../table.js'
import { jobState } from './job-state.js'

/** @typedef {import('../api.js').Schemas['JobSummary']} JobSummary */

const refreshMs = 5000
/** A browser has six connections to a service; the list of jobs and the rest of the page need some of them. */
const watchedMax = 3
const kinds = { 'add-products': 'Add products to', 'sync-with-catalog': 'Sync with the catalog:' }
/** @type {Record<string, string>} */
const files = {
  upsertProducts: 'Load products',
  addProducts: 'Load products to add to',
  updatePrices: 'Load prices of',
  updateDynamicAttributes: 'Load attributes of',
  upsertPromotions: 'Load promotions',
  upsertSales: 'Load sales',
  upsertCompetitorPrices: 'Load competitor prices',
  upsertAgreements: 'Load agreements',
}

/** @type {import('../main.js').View<unknown>} */
export function showJobs(main, _route, signal) {
  const place = el('div', { class: 'panel' })
  main.replaceChildren(el('h1', {}, 'Jobs'), place)
  const watched = new Set()
  /** @type {States} */
  const states = new Map()
  const order = newOrder()
  let shown = ''
  const read = async () => {
    const query = { order: 'newest', limit: 50 }
    /** @type {{ results: JobSummary[] }} */
    const { results } = await get('/api/v1/jobs/', query, signal)
    for (const job of results) {
      stateOf(states, job.id).update(job)
      if (job.status === 'progress') void watch(job.id)
    }
    return results
  }
  const show = (/** @type {JobSummary[]} */ jobs) => {
    shown = keyOf(jobs)
    return jobs.length > 0 ? jobTable(jobs, states, order) : noJobs()
  }
  const refresh = async () => {
    const jobs = await read()
    if (keyOf(jobs) !== shown) place.replaceChildren(show(jobs))
  }
  // A look that fails is followed by another one in a moment.
  const quietly = (/** @type {Promise<void>} */ work) => void work.catch(() => undefined)
  const watch = async (/** @type {number} */ id) => {
    if (watched.has(id) || watched.size >= watchedMax) return
    watched.add(id)
    const isOver = await follow(id, stateOf(states, id), signal)
    watched.delete(id)
    if (isOver) quietly(refresh())
  }
  void fill(place, signal, async () => show(await read()))
  const timer = setInterval(() => document.hidden || quietly(refresh()), refreshMs)
  signal.addEventListener('abort', () => clearInterval(timer))
}

/** @typedef {Map<number, ReturnType<typeof jobState>>} States */

/**
 * @param {States} states
 * @param {number} id
 */
function stateOf(states, id) {
  const state = states.get(id) ?? jobState(id)
  states.set(id, state)
  return state
}

/**
 * Shows a job as it goes on. Answers whether it has ended; else its stream was cut short.
 *
 * @param {number} id
 * @param {ReturnType<typeof jobState>} state
 * @param {AbortSignal} signal
 */
async function follow(id, state, signal) {
  let isOver = false
  try {
    for await (const job of jobEvents(id, signal)) {
      state.update(job)
      isOver = job.status !== 'progress'
    }
  } catch {
    // The list is read again in a moment, and the job followed again if it still runs.
  }
  return isOver
}

/** What the rows of the table depend on, but for what changes in place. @param {JobSummary[]} jobs */
function keyOf(jobs) {
  return JSON.stringify(
    jobs.map(({ id, status, price_list_name }) => [id, status, price_list_name]),
  )
}

function noJobs() {
  const hint = 'Work on more than 100 products runs as a job; jobs are kept for 7 days.'
  return empty('There are no jobs.', hint)
}

/**
 * @param {JobSummary[]} jobs
 * @param {States} states
 * @param {import('../table.js').Order} order
 */
function jobTable(jobs, states, order) {
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
