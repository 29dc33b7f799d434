import { Failure } from './api.js'
import { announce, el, focusOn, setChildren } from './dom.js'
import { faultsOf } from './faults.js'

/** Shown while content loads, after a short delay. */
export function loading(label = 'Loading') {
  return el(
    'div',
    { class: 'loading', role: 'status' },
    el('span', { class: 'unseen' }, `${label} …`),
    Array.from({ length: 4 }, () => el('span', { class: 'bone', 'aria-hidden': 'true' })),
  )
}

/**
 * An empty state with a hint.
 *
 * @param {string} title
 * @param {...import('./dom.js').Child} hint
 */
export function empty(title, ...hint) {
  announce(title)
  return el('div', { class: 'empty' }, el('p', { class: 'lead' }, title), el('p', {}, ...hint))
}

/** Explains which scope the login lacks. @param {string} scope @param {string} what */
export function lacking(scope, what) {
  return el('p', { class: 'hint' }, `To ${what}, your login needs the scope “${scope}”.`)
}

/**
 * @param {unknown} error
 * @param {() => void} [retry]
 */
export function failed(error, retry) {
  const failure = error instanceof Failure ? error : new Failure({ title: 'Something went wrong' })
  if (!(error instanceof Failure)) console.error(error)
  return el(
    'div',
    { class: 'failed', role: 'alert' },
    el('p', { class: 'lead' }, failure.title),
    failure.message !== failure.title && el('p', {}, failure.message),
    failure.errors.length > 0 && faultsOf(failure.errors, failure.errorCount),
    failure.instance && el('p', { class: 'hint' }, `Request ${failure.instance}`),
    retry && el('button', { type: 'button', onclick: retry }, 'Try again'),
  )
}

/**
 * Asks before something is done.
 *
 * @param {string} label
 * @param {(import('./dom.js').Child | import('./dom.js').Child[])[]} content
 * @param {{ yes: string, onYes: () => void, onCancel: () => void }} answers
 */
export function question(label, content, { yes, onYes, onCancel }) {
  return el(
    'div',
    {
      class: 'notice',
      role: 'group',
      'aria-label': label,
      onkeydown: ({ key }) => key === 'Escape' && onCancel(),
    },
    ...content,
    el(
      'p',
      { class: 'buttons' },
      el('button', { type: 'button', class: 'primary', onclick: onYes }, yes),
      el('button', { type: 'button', class: 'quiet', onclick: onCancel }, 'Cancel'),
    ),
  )
}

/** @typedef {import('./dom.js').Child | import('./dom.js').Child[]} Content */

/**
 * Fills a place with the content that `load` returns. Shows a loading state first, and an error if it fails.
 *
 * @param {Element} place
 * @param {AbortSignal} signal
 * @param {() => Promise<Content>} load
 */
export async function fill(place, signal, load) {
  place.setAttribute('aria-busy', 'true')
  if (!place.hasChildNodes()) place.replaceChildren(loading())
  try {
    const content = await load()
    if (!signal.aborted) setChildren(place, content)
  } catch (error) {
    if (signal.aborted) return
    place.replaceChildren(
      failed(error, () => {
        place.replaceChildren(loading())
        focusOn(/** @type {HTMLElement} */ (place))
        void fill(place, signal, load)
      }),
    )
  }
  if (!signal.aborted) place.removeAttribute('aria-busy')
}

/**
 * Fills a place again and again: each load abandons the one before.
 *
 * @param {Element} place
 * @param {AbortSignal} signal
 */
export function refilling(place, signal) {
  let earlier = new AbortController()
  return (/** @type {(signal: AbortSignal) => Promise<Content>} */ load) => {
    earlier.abort()
    earlier = new AbortController()
    const current = AbortSignal.any([signal, earlier.signal])
    return fill(place, current, () => load(current))
  }
}
