import { Failure, keyToRetry, newKey, post, remove, resultOfJob } from '../api.js'
import { announce, el, labelled, name, replaceFocused, setChildren } from '../dom.js'
import { faultsOf } from '../faults.js'
import * as format from '../format.js'
import { session } from '../session.js'
import { failed, lacking, question } from '../states.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ at?: string, skip: ('stale' | 'violations')[], override: string, key: string }} Wish */
/** @typedef {{ plan: Schemas['Plan'], place: Element, signal: AbortSignal, onDone: () => void }} Shown */

/**
 * Buttons to apply or discard a plan, as its status allows; `onDone` is called when its status has changed.
 *
 * @param {Schemas['Plan']} plan
 * @param {AbortSignal} signal
 * @param {() => void} onDone
 */
export function actionsOf(plan, signal, onDone) {
  const place = el('div', {})
  const shown = { plan, place, signal, onDone }
  showButtons(shown)
  return place
}

/** @param {Shown} shown */
function showButtons(shown) {
  const { plan, place } = shown
  const isOpen = plan.status === 'open'
  if (!isOpen && plan.status !== 'scheduled') return
  const mayApply = session.allows('write')
  const buttonOf = (
    /** @type {string} */ label,
    /** @type {(shown: Shown) => HTMLElement} */ ask,
    /** @type {string} */ className = '',
  ) => {
    const onclick = () => replaceFocused(place, ask(shown))
    return el('button', { type: 'button', class: className, onclick }, label)
  }
  setChildren(
    place,
    isOpen && !mayApply && lacking('write', 'apply it'),
    isOpen && mayApply && buttonOf('Apply', askToApply, 'primary'),
    ' ',
    session.allows('plan') && buttonOf('Discard', askToDiscard),
  )
}

/** @param {Shown} shown */
function askToApply(shown) {
  const moment = el('input', { type: 'datetime-local', min: format.minuteNow() })
  const start = () => {
    if (!moment.reportValidity()) return
    const at = moment.value && { at: new Date(moment.value).toISOString() }
    void apply(shown, { ...at, skip: [], override: '', key: newKey() })
  }
  const { price_list_name: list } = shown.plan
  return question(
    'Apply this plan',
    [
      el(
        'p',
        { class: 'lead' },
        'Apply this plan',
        list !== undefined && [' to ', name(list)],
        '?',
      ),
      el('p', {}, 'What was changed since it was made is not overwritten without a word.'),
      labelled('When (now if left out)', moment),
    ],
    { yes: 'Apply', onYes: start, onCancel: () => cancel(shown) },
  )
}

/** @param {Shown} shown */
function askToDiscard(shown) {
  return question(
    'Discard this plan',
    [
      el('p', { class: 'lead' }, 'Discard this plan?'),
      el('p', {}, 'It cannot be applied any more.'),
    ],
    { yes: 'Discard', onYes: () => void discard(shown), onCancel: () => cancel(shown) },
  )
}

/** @param {Shown} shown */
function cancel(shown) {
  showButtons(shown)
  shown.place.querySelector('button')?.focus()
}

/** @param {Shown} shown @param {Wish} wish */
async function apply(shown, wish) {
  const { plan, place, signal, onDone } = shown
  replaceFocused(place, el('p', { role: 'status' }, 'Applying …'))
  const { override, key, ...body } = wish
  try {
    const path = `/api/v1/plans/${plan.id}/apply/`
    const headers = { 'override-guardrails': override, 'idempotency-key': key }
    const answer = await post(path, body, signal, headers)
    if ('progress' in answer) await resultOfJob(answer.id, 'Nothing was applied', signal)
    announce(wish.at ? 'Scheduled' : 'Done')
    onDone()
  } catch (error) {
    if (!signal.aborted) replaceFocused(place, refused(shown, wish, error))
  }
}

/**
 * Explains why a plan was not applied, with the first rows and what can be done.
 *
 * @param {Shown} shown
 * @param {Wish} wish
 * @param {unknown} error
 */
function refused(shown, wish, error) {
  const again = (/** @type {Partial<Wish>} */ other) =>
    void apply(shown, { ...wish, key: newKey(), ...other })
  const isStale = error instanceof Failure && error.type === 'plan-stale'
  const isViolating = error instanceof Failure && error.type === 'guardrail-violated'
  if (!isStale && !isViolating) return failedCall(shown, wish, error)
  const what = isStale ? 'stale' : 'violations'
  const without = () => again({ skip: [...wish.skip, what] })
  // Guardrails on the whole list have no rows to leave out.
  const isOfRows = error.errors.some(({ cell }) => cell !== undefined)
  return el(
    'div',
    { class: 'failed', role: 'alert' },
    el('p', { class: 'lead' }, isStale ? 'Changed since the plan was made' : error.title),
    faultsOf(error.errors, error.errorCount),
    isViolating &&
      (session.allows('override')
        ? overriding((override) => again({ override }))
        : lacking('override', 'apply it all the same')),
    el(
      'p',
      { class: 'buttons' },
      isOfRows && el('button', { type: 'button', onclick: without }, 'Apply without them'),
      el('button', { type: 'button', onclick: () => cancel(shown) }, 'Cancel'),
    ),
  )
}

/**
 * Explains another failure, with a way back to the plan as it is by now, and one to try again where that may help.
 *
 * @param {Shown} shown
 * @param {Wish} wish
 * @param {unknown} error
 */
function failedCall(shown, wish, error) {
  const isEnded =
    error instanceof Failure && ['plan-not-open', 'not-found'].includes(error.type ?? '')
  const again = () => void apply(shown, { ...wish, key: keyToRetry(error, wish.key) })
  return withWayBack(failed(error, isEnded ? undefined : again), shown.onDone)
}

/** A form for the reason to override guardrails. @param {(reason: string) => void} onReason */
function overriding(onReason) {
  const reason = el('input', { type: 'text', dir: 'auto', maxlength: 255, required: true })
  return el(
    'form',
    {
      class: 'buttons',
      onsubmit: (event) => {
        event.preventDefault()
        onReason(reason.value.trim())
      },
    },
    labelled('Why the guardrails do not hold', reason),
    el('button', {}, 'Apply all the same'),
  )
}

/** @param {Shown} shown */
async function discard({ plan, place, signal, onDone }) {
  replaceFocused(place, el('p', { role: 'status' }, 'Discarding …'))
  try {
    await remove(`/api/v1/plans/${plan.id}/`, signal)
    announce('Discarded')
    onDone()
  } catch (error) {
    if (!signal.aborted) replaceFocused(place, withWayBack(failed(error), onDone))
  }
}

/** @param {HTMLElement} explained @param {() => void} onDone */
function withWayBack(explained, onDone) {
  explained.append(' ', el('button', { type: 'button', onclick: onDone }, 'Back'))
  return explained
}
