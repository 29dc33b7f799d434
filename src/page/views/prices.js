import { get } from '../api.js'
import { debounced, el } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty, fill } from '../states.js'
import { showPricesOf } from './prices-of-code.js'

/** @typedef {import('../api.js').Schemas['PriceList']} PriceList */
/** @typedef {{ code: string, list: number | undefined, on: string | undefined, date: string | undefined }} Choice */

/** @type {import('../main.js').View<Choice>} */
export function showPrices(main, choice, signal) {
  const place = el('div', {})
  const form = el('div', { class: 'panel' })
  main.replaceChildren(el('h1', {}, 'Prices'), form, place)
  if (choice.code !== '') document.title = `${choice.code} · Prices`
  void fill(form, signal, async () => {
    const { results } = await get('/api/v1/price_list/', { limit: 1000 }, signal)
    return choiceForm(results, choice, place, signal)
  })
}

/**
 * What to look at; each change looks again and can be found in the address.
 *
 * @param {PriceList[]} lists
 * @param {Choice} choice
 * @param {Element} place
 * @param {AbortSignal} signal
 */
function choiceForm(lists, choice, place, signal) {
  const codes = el('datalist', { id: 'codes' })
  const code = el('input', {
    type: 'search',
    value: choice.code,
    list: codes.id,
    maxlength: 255,
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'Product code',
  })
  const list = el(
    'select',
    {},
    lists.map((one) => el('option', { value: one.id }, one.name)),
  )
  const preferred =
    lists.find(({ id }) => id === choice.list) ?? lists.find((one) => one.is_published)
  list.value = String(preferred?.id ?? '')
  const on = el('input', { type: 'date', value: choice.on ?? format.today() })
  const date = el('input', { type: 'date', value: choice.date ?? '' })
  const dateLabel = labelled('Day', date)
  let looking = new AbortController()
  const look = () => {
    looking.abort()
    looking = new AbortController()
    const current = AbortSignal.any([signal, looking.signal])
    const chosen = lists.find(({ id }) => String(id) === list.value)
    dateLabel.hidden = !chosen?.is_calendar
    if (chosen?.is_calendar) setCalendar(date, chosen)
    if (code.value === '' || !chosen) place.replaceChildren(invitation(chosen))
    else void fill(place, current, () => showPricesOf(wanted(chosen), current, onDay))
  }
  const wanted = (/** @type {PriceList} */ chosen) => ({
    code: code.value,
    list: chosen,
    on: on.value || format.today(),
    date: chosen.is_calendar ? date.value : undefined,
  })
  const remember = () => {
    const values = {
      code: code.value,
      list: Number(list.value) || undefined,
      on: choice.on || on.value !== format.today() ? on.value : undefined,
    }
    history.replaceState(
      null,
      '',
      href('prices', { ...values, date: dateLabel.hidden ? undefined : date.value }),
    )
  }
  const change = () => {
    if (signal.aborted) return
    remember()
    look()
  }
  const onDay = (/** @type {string} */ day) => {
    date.value = day
    remember()
  }
  code.addEventListener(
    'input',
    debounced(() => void suggest(code.value, codes, signal)),
  )
  code.addEventListener('input', debounced(change))
  for (const input of [list, on, date]) input.addEventListener('change', change)
  look()
  return el(
    'div',
    { class: 'choice' },
    labelled('Product code', code),
    codes,
    labelled('Price list', list),
    labelled('Promotions on', on),
    dateLabel,
  )
}

/**
 * @param {string} text
 * @param {HTMLElement} control
 */
function labelled(text, control) {
  return el('label', {}, el('span', {}, text), control)
}

/**
 * A day of the list: today where the list has it.
 *
 * @param {HTMLInputElement} input
 * @param {PriceList} list
 */
function setCalendar(input, { valid_from }) {
  input.min = valid_from
  input.max = format.daysFrom(valid_from, 365).at(-1) ?? valid_from
  const isInside = (/** @type {string} */ day) => day >= input.min && day <= input.max
  if (!isInside(input.value)) input.value = isInside(format.today()) ? format.today() : valid_from
}

/** @param {PriceList | undefined} list */
function invitation(list) {
  return list
    ? empty('Which product?', 'Begin to write its code; the codes of the catalog are suggested.')
    : empty('There are no price lists yet.', 'Prices are read from a list.')
}

/**
 * Suggests codes that begin like this.
 *
 * @param {string} prefix
 * @param {Element} codes
 * @param {AbortSignal} signal
 */
async function suggest(prefix, codes, signal) {
  if (prefix === '') return codes.replaceChildren()
  const query = { code_prefix: prefix, limit: 200 }
  const { results } = await get('/api/v1/product_catalog/', query, signal).catch(() => ({
    results: [],
  }))
  /** @type {Set<string>} */
  const found = new Set(results.map((/** @type {{ code: string }} */ { code }) => code))
  codes.replaceChildren(...[...found].slice(0, 20).map((value) => el('option', { value })))
}
