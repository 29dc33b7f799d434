import { get, post } from '../api.js'
import { announce, el, replaceFocused } from '../dom.js'
import { faultsOf } from '../faults.js'
import * as format from '../format.js'
import { session } from '../session.js'
import { failed, fill, question } from '../states.js'

const statuses = { progress: 'running', done: 'done', failed: 'failed', cancelled: 'cancelled' }

/**
 * A job's status and progress, updated in place, with a way to cancel it while it runs or to read why it failed.
 * Announces each quarter.
 *
 * @param {number} id
 * @param {AbortSignal} signal
 */
export function jobState(id, signal) {
  const badge = el('span', {})
  const bar = el('progress', { 'aria-label': `Progress of job ${id}` })
  const text = el('span', { class: 'sub' })
  const more = el('div', {})
  const element = el('div', {}, el('div', { class: 'progress' }, badge, bar, text), more)
  let shownStatus = ''
  let announced = ''
  /** @type {Update} */
  const update = ({ status, resource_type, progress: { total, finished, error } }) => {
    // An answer may have been on its way while the job was cancelled.
    if (status === 'progress' && shownStatus !== '' && shownStatus !== status) return
    badge.className = `badge ${status}`
    badge.textContent = statuses[status]
    bar.max = Math.max(total, 1)
    // Work that is done in one step has no figure before its end: the bar moves without one.
    if (status === 'progress' && finished === 0) bar.removeAttribute('value')
    else bar.value = status === 'done' ? bar.max : finished
    bar.hidden = status === 'failed' || status === 'cancelled'
    const failed = resource_type === 'file' ? 'errors' : 'failed'
    const faults = error > 0 ? `, ${format.count(error)} ${failed}` : ''
    text.textContent = `${format.count(finished)} of ${format.count(total)}${faults}`
    if (status !== shownStatus) more.replaceChildren(...moreOf(id, status, update, signal))
    shownStatus = status
    const quarters = Math.floor((4 * finished) / Math.max(total, 1)) * 25
    const news =
      status === 'progress' ? `Job ${id}: ${quarters} %` : `Job ${id}: ${statuses[status]}`
    const isFirstLook = announced === ''
    if (news !== announced && !(isFirstLook && status !== 'progress')) announce(news)
    announced = news
  }
  return { element, update }
}

/** @typedef {(job: import('../api.js').Schemas['JobInfo']) => void} Update */

/**
 * @param {number} id
 * @param {import('../api.js').Schemas['JobStatus']} status
 * @param {Update} update
 * @param {AbortSignal} signal
 */
function moreOf(id, status, update, signal) {
  if (status === 'progress')
    return session.allows('write') ? [cancelButton(id, update, signal)] : []
  if (status === 'cancelled') return [el('p', { class: 'sub' }, 'Nothing was written.')]
  return status === 'failed' ? [reasons(id, signal)] : []
}

/**
 * @param {number} id
 * @param {Update} update
 * @param {AbortSignal} signal
 */
function cancelButton(id, update, signal) {
  const place = el('div', {})
  const cancel = async () => {
    try {
      update(await post(`/api/v1/jobs/${id}/cancel/`, undefined, signal))
    } catch (error) {
      if (!signal.aborted) place.replaceChildren(failed(error))
    }
  }
  const onCancel = () => showButton().focus()
  const ask = () => {
    const content = [el('p', { class: 'lead' }, 'Stop this job? None of it will be written.')]
    const answers = { yes: 'Stop it', onYes: () => void cancel(), onCancel }
    replaceFocused(place, question(`Cancel job ${id}`, content, answers))
  }
  const showButton = () => {
    const attributes = { type: 'button', class: 'quiet', 'aria-label': `Cancel job ${id}` }
    const button = el('button', { ...attributes, onclick: ask }, 'Cancel')
    place.replaceChildren(button)
    return button
  }
  showButton()
  return place
}

/**
 * Why a job failed, loaded when opened.
 *
 * @param {number} id
 * @param {AbortSignal} signal
 */
function reasons(id, signal) {
  const place = el('div', {})
  const read = async () => {
    const { errors, progress } = await get(`/api/v1/jobs/${id}/`, {}, signal)
    return faultsOf(errors, Math.max(errors.length, progress.error))
  }
  const ontoggle = () => place.hasChildNodes() || void fill(place, signal, read)
  return el('details', { ontoggle }, el('summary', {}, 'Nothing was written. Why?'), place)
}
