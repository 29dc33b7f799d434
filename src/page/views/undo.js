import { Failure, keyToRetry, newKey, post, resultOfJob } from '../api.js'
import { announce, el, labelled, replaceFocused } from '../dom.js'
import { faultsOf } from '../faults.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { session } from '../session.js'
import { failed, lacking, question } from '../states.js'
import { whatOf } from './revisions.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/**
 * The revision to undo; `onVoided` is called when it has been marked as a mistake.
 *
 * @typedef {{ list: Schemas['PriceList'], revision: Schemas['Revision'], signal: AbortSignal,
 *   onVoided: () => void }} Undoable
 */
/** @typedef {{ note: string, isMistake: boolean, isSkipping: boolean, key: string }} Wish */
/** @typedef {Undoable & { place: Element }} Shown */

/**
 * A button that undoes the revision after confirmation.
 *
 * @param {Undoable} undoable
 */
export function undoing(undoable) {
  if (!session.allows('write')) return lacking('write', 'undo this change')
  const place = el('div', {})
  showButton({ ...undoable, place })
  return place
}

/** @param {Shown} shown */
function showButton(shown) {
  const ask = () => replaceFocused(shown.place, askToUndo(shown))
  const button = el('button', { type: 'button', onclick: ask }, 'Undo this change')
  shown.place.replaceChildren(button)
  return button
}

/** @param {Shown} shown */
function cancelButton(shown) {
  const cancel = () => showButton(shown).focus()
  return el('button', { type: 'button', class: 'quiet', onclick: cancel }, 'Cancel')
}

/** @param {Shown} shown */
function askToUndo(shown) {
  const text = { type: 'text', dir: 'auto', maxlength: 255 }
  const note = el('input', { ...text, placeholder: 'Why (optional)' })
  const isMistake = el('input', { type: 'checkbox' })
  const revert = () => {
    const chosen = { note: note.value, isMistake: isMistake.checked }
    return undo(shown, { ...chosen, isSkipping: false, key: newKey() })
  }
  return question(
    'Undo this change',
    [
      el('p', { class: 'lead' }, `Undo ${whatOf(shown.revision)}?`),
      el('p', {}, 'What it changed gets its former price again. Later changes stay.'),
      labelled('Note', note),
      el('label', { class: 'check' }, isMistake, ' Mark the change as a mistake'),
    ],
    { yes: 'Undo', onYes: revert, onCancel: () => showButton(shown).focus() },
  )
}

/** @param {Shown} shown @param {Wish} wish */
async function undo(shown, wish) {
  const { list, revision, signal, place, onVoided } = shown
  replaceFocused(place, el('p', { role: 'status' }, 'Undoing …'))
  const body = {
    revision: revision.revision,
    void: wish.isMistake,
    on_conflict: wish.isSkipping ? 'skip' : 'reject',
  }
  try {
    const path = `/api/v1/price_list/${list.id}/revert/`
    const headers = { 'change-note': wish.note.trim(), 'idempotency-key': wish.key }
    const answer = await post(path, body, signal, headers)
    const isJob = 'id' in answer
    const result = isJob ? await resultOfJob(answer.id, 'Nothing was undone', signal) : answer
    replaceFocused(place, undone(list, result))
    if (wish.isMistake) onVoided()
  } catch (error) {
    if (!signal.aborted) replaceFocused(place, refused(shown, wish, error))
  }
}

/**
 * Explains why nothing was undone, with the first conflicts and what can be done.
 *
 * @param {Shown} shown
 * @param {Wish} wish
 * @param {unknown} error
 */
function refused(shown, wish, error) {
  if (!(error instanceof Failure) || error.type !== 'revert-conflict')
    return failed(error, () => undo(shown, { ...wish, key: keyToRetry(error, wish.key) }))
  const { priced, added, removed } = shown.revision
  const isAll = error.errorCount === priced + added + removed
  const skip = () => undo(shown, { ...wish, isSkipping: true, key: newKey() })
  return el(
    'div',
    { class: 'failed', role: 'alert' },
    el('p', { class: 'lead' }, isAll ? 'None of it can be undone' : 'Not all of it can be undone'),
    faultsOf(error.errors, error.errorCount),
    el(
      'p',
      { class: 'buttons' },
      !isAll && el('button', { type: 'button', onclick: skip }, 'Undo the rest'),
      cancelButton(shown),
    ),
  )
}

/**
 * @param {Schemas['PriceList']} list
 * @param {Schemas['RevertResult']} result
 */
function undone(list, { revision, priced, added, removed, skipped }) {
  announce('Undone')
  if (priced + added + removed === 0) return el('p', {}, 'There was nothing to undo.')
  return el(
    'p',
    { role: 'status' },
    'Undone: ',
    el('a', { href: href(`lists/${list.id}/revisions/${revision}`) }, `revision ${revision}`),
    skipped > 0 && `, ${format.count(skipped)} left out because they were changed again`,
    '.',
  )
}
