import { Failure, get } from '../api.js'
import { el, setChildren } from '../dom.js'
import * as format from '../format.js'
import { empty, fill } from '../states.js'
import { newOrder } from '../table.js'
import { jobState } from './job-state.js'
import { jobTable } from './job-table.js'

/** @typedef {import('../api.js').Schemas['JobSummary']} JobSummary */

/** The pause before the jobs are read again, while some run and while none do. */
const pauseMs = { running: 1000, ended: 5000 }
/** A service that takes longer does not answer. */
const answerMs = 10_000
const shownMax = 50

/** @type {import('../main.js').View<unknown>} */
export function showJobs(main, _route, signal) {
  const place = el('div', { class: 'panel' })
  main.replaceChildren(el('h1', {}, 'Jobs'), place)
  /** @type {States} */
  const states = new Map()
  const order = newOrder()
  /** @type {{ count: number, results: JobSummary[] }} */
  let found = { count: 0, results: [] }
  let shown = ''
  const read = async () => {
    const query = { order: 'newest', limit: shownMax }
    found = await get(
      '/api/v1/jobs/',
      query,
      AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
    )
    for (const job of found.results) {
      const state = states.get(job.id) ?? jobState(job.id, signal)
      states.set(job.id, state)
      state.update(job)
    }
  }
  const show = () => {
    const { count, results } = found
    shown = keyOf(results)
    if (results.length === 0) return [noJobs()]
    const summary = `${format.count(count)} in all, the last ${shownMax} are shown`
    return [
      count > results.length && el('p', { class: 'hint' }, summary),
      jobTable(results, states, order),
    ]
  }
  const lost = el(
    'p',
    { class: 'notice', role: 'status' },
    'This may be old: the service does not answer.',
  )
  const refresh = async () => {
    if (document.hidden) return
    await read()
    lost.remove()
    if (keyOf(found.results) !== shown) setChildren(place, show())
  }
  // One after the other: no answer is older than one before.
  const goOn = () => {
    const isRunning = found.results.some(({ status }) => status === 'progress')
    const again = () =>
      refresh()
        .catch((error) => error instanceof Failure && error.status === 0 && place.prepend(lost))
        .finally(goOn)
    if (!signal.aborted) setTimeout(again, isRunning ? pauseMs.running : pauseMs.ended)
  }
  void fill(place, signal, () => read().then(show)).then(goOn)
}

/** @typedef {Map<number, ReturnType<typeof jobState>>} States */

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
