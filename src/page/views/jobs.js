import { Failure, get, jobEvents } from '../api.js'
import { el } from '../dom.js'
import * as format from '../format.js'
import { newestOf } from '../newest.js'
import { empty, fill } from '../states.js'
import { newOrder } from '../table.js'
import { jobState } from './job-state.js'
import { jobTable } from './job-table.js'

/** @typedef {import('../api.js').Schemas['JobSummary']} JobSummary */

const refreshMs = 5000
const shownMax = 50
/** A browser opens six connections per host; the job list and the rest of the page need some of them. */
const watchedMax = 3

/** @type {import('../main.js').View<unknown>} */
export function showJobs(main, _route, signal) {
  const place = el('div', { class: 'panel' })
  main.replaceChildren(el('h1', {}, 'Jobs'), place)
  const watched = new Set()
  /** @type {States} */
  const states = new Map()
  const stateOf = (/** @type {number} */ id) => {
    const state = states.get(id) ?? jobState(id, signal)
    states.set(id, state)
    return state
  }
  const order = newOrder()
  let shown = ''
  /** @type {JobSummary[]} */
  let jobs = []
  let count = 0
  const load = () => get('/api/v1/jobs/', { order: 'newest', limit: shownMax }, signal)
  const looks = newestOf(load, (found) => {
    jobs = found.results
    count = found.count
    for (const job of jobs) {
      stateOf(job.id).update(job)
      if (job.status === 'progress') void watch(job.id)
    }
  })
  const show = () => {
    shown = keyOf(jobs)
    if (jobs.length === 0) return [noJobs()]
    const summary = `${format.count(count)} in all, the last ${shownMax} are shown`
    return [
      count > jobs.length && el('p', { class: 'hint' }, summary),
      jobTable(jobs, states, order),
    ].filter((node) => node instanceof Node)
  }
  const refresh = async () => {
    await looks.ask()
    if (keyOf(jobs) !== shown) place.replaceChildren(...show())
  }
  const lost = el(
    'p',
    { class: 'notice', role: 'status' },
    'This may be old: the service does not answer.',
  )
  // A failed request is soon repeated.
  const quietly = (/** @type {Promise<void>} */ work) =>
    void work.then(
      () => lost.remove(),
      (error) => error instanceof Failure && error.status === 0 && place.prepend(lost),
    )
  const watch = async (/** @type {number} */ id) => {
    if (watched.has(id) || watched.size >= watchedMax) return
    watched.add(id)
    const isOver = await follow(id, stateOf(id), signal)
    watched.delete(id)
    if (!isOver) return
    looks.outdate()
    quietly(refresh())
  }
  void fill(place, signal, () => looks.ask().then(show))
  const timer = setInterval(() => document.hidden || quietly(refresh()), refreshMs)
  signal.addEventListener('abort', () => clearInterval(timer))
}

/** @typedef {Map<number, ReturnType<typeof jobState>>} States */

/**
 * Follows a job. Returns whether it ended; otherwise its stream was cut short.
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
    // The list is read again soon, and the job is followed again if it still runs.
  }
  return isOver
}

/** What the table's rows depend on, except what updates in place. @param {JobSummary[]} jobs */
function keyOf(jobs) {
  return JSON.stringify(
    jobs.map(({ id, status, price_list_name }) => [id, status, price_list_name]),
  )
}

function noJobs() {
  const hint = 'Work on more than 100 products runs as a job; jobs are kept for 7 days.'
  return empty('There are no jobs.', hint)
}
