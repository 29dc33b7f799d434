/** @typedef {Node | string | number | false | null | undefined} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */

/**
 * Creates an element. Strings become text nodes and functions become listeners (`onclick`); `false`, `null` and
 * `undefined` omit an attribute or a child.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  setAttributes(element, attributes)
  append(element, children.flat())
  return element
}

/**
 * Creates an SVG element.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  setAttributes(element, attributes)
  append(element, children.flat())
  return element
}

/**
 * Text from the account, isolated so that its writing direction does not affect the text around it.
 *
 * @param {unknown} text
 */
export function name(text) {
  return el('bdi', { class: 'name' }, String(text))
}

/** Names separated by commas, each isolated. @param {unknown[]} texts @returns {Child[]} */
export function names(texts) {
  return texts.flatMap((text, index) => [index > 0 && ', ', name(text)])
}

/** A control with its label. @param {string} text @param {...Child} control */
export const labelled = (text, ...control) => el('label', {}, el('span', {}, text), ...control)

/** Links to the views above this one. @param {...Child} links */
export const crumbs = (...links) =>
  el('nav', { class: 'crumbs', 'aria-label': 'Breadcrumb' }, ...links)

/** @param {string} id */
export function byId(id) {
  const element = document.getElementById(id)
  if (!element) throw new Error(`there is no #${id}`)
  return element
}

/** Moves the focus to something that is not a control, so that screen readers continue there. @param {HTMLElement} element */
export function focusOn(element) {
  element.tabIndex = -1
  element.focus()
}

/**
 * Replaces a control that was just used, and moves the focus to what comes instead.
 *
 * @param {Element} place
 * @param {HTMLElement} element
 */
export function replaceFocused(place, element) {
  place.replaceChildren(element)
  focusOn(element)
}

/**
 * Focuses the successor of a control that was replaced while it had the focus.
 *
 * @param {HTMLElement} place
 * @param {string} selector
 */
export function refocus(place, selector) {
  const element = place.querySelector(selector)
  if (document.activeElement === document.body && element instanceof HTMLElement) element.focus()
}

/**
 * Debounces `work`.
 *
 * @param {() => void} work
 */
export function debounced(work, delayMs = 250) {
  let timer = 0
  return () => {
    clearTimeout(timer)
    timer = setTimeout(work, delayMs)
  }
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let announcing

/**
 * Announces a message to screen readers. A later message within a moment replaces it.
 *
 * @param {string} text
 */
export function announce(text) {
  clearTimeout(announcing)
  announcing = setTimeout(() => {
    byId('status').textContent = text
  }, 100)
}

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function setAttributes(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue
    if (typeof value === 'function') element.addEventListener(key.slice(2), value)
    else element.setAttribute(key, value === true ? '' : String(value))
  }
}

/**
 * Replaces the content of an element; children are as for `el`.
 *
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function setChildren(element, ...children) {
  element.replaceChildren()
  append(element, children.flat())
}

/**
 * @param {Element} element
 * @param {Child[]} children
 */
function append(element, children) {
  for (const child of children) {
    if (child === false || child === null || child === undefined) continue
    element.append(child instanceof Node ? child : String(child))
  }
}
