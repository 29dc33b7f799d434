import { announce, el } from '../dom.js'
import * as format from '../format.js'

const statuses = { progress: 'running', done: 'done', failed: 'failed', cancelled: 'cancelled' }

/**
 * The status and progress of a job, updated in place. Each quarter is announced.
 *
 * @param {number} id
 */
export function jobState(id) {
  const badge = el('span', {})
  const bar = el('progress', { 'aria-label': `Progress of job ${id}` })
  const text = el('span', { class: 'sub' })
  const element = el('div', { class: 'progress' }, badge, bar, text)
  let announced = ''
  /** @param {import('../api.js').Schemas['JobInfo']} job */
  const update = ({ status, resource_type, progress: { total, finished, error } }) => {
    badge.className = `badge ${status}`
    badge.textContent = statuses[status]
    bar.max = Math.max(total, 1)
    bar.value = status === 'done' ? bar.max : finished
    bar.hidden = status === 'failed' || status === 'cancelled'
    const failed = resource_type === 'file' ? 'errors' : 'failed'
    const faults = error > 0 ? `, ${format.count(error)} ${failed}` : ''
    text.textContent = `${format.count(finished)} of ${format.count(total)}${faults}`
    const quarters = Math.floor((4 * finished) / Math.max(total, 1)) * 25
    const news =
      status === 'progress' ? `Job ${id}: ${quarters} %` : `Job ${id}: ${statuses[status]}`
    const isFirstLook = announced === ''
    if (news !== announced && !(isFirstLook && status !== 'progress')) announce(news)
    announced = news
  }
  return { element, update }
}
