import { Failure, get, getPage } from '../api.js'
import { dateField } from '../date-field.js'
import { debounced, el, labelled } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty, fill } from '../states.js'
import { showPricesOf } from './prices-of-code.js'

/** @typedef {import('../api.js').Schemas['PriceList']} PriceList */
/**
 * @typedef {{ code: string, list: number | undefined, on: string | undefined, date: string | undefined,
 *   asOf: string | undefined }} Choice
 */

/** @type {import('../main.js').View<Choice>} */
export function showPrices(main, choice, signal) {
  const place = el('div', {})
  const form = el('div', { class: 'panel' })
  main.replaceChildren(el('h1', {}, 'Prices'), form, place)
  void fill(form, signal, async () => {
    const lists = await listsToChoose(choice.list, signal)
    return choiceForm(lists, choice, place, signal)
  })
}

/**
 * The first thousand lists, plus the wanted one if it exists.
 *
 * @param {number | undefined} wanted
 * @param {AbortSignal} signal
 * @returns {Promise<PriceList[]>}
 */
async function listsToChoose(wanted, signal) {
  const { results } = await getPage('/api/v1/price_list/', { limit: 1000 }, signal)
  const isThere = results.some((/** @type {PriceList} */ { id }) => id === wanted)
  if (wanted === undefined || isThere) return results
  const list = await get(`/api/v1/price_list/${wanted}`, {}, signal).catch((error) => {
    if (error instanceof Failure && error.status === 404) return []
    throw error
  })
  return [list, ...results].flat()
}

/**
 * The form; each change reloads the prices and updates the URL.
 *
 * @param {PriceList[]} lists
 * @param {Choice} choice
 * @param {Element} place
 * @param {AbortSignal} signal
 */
function choiceForm(lists, choice, place, signal) {
  const { code, codes, list, element } = choiceFields(lists, choice)
  const onField = dateField(
    'Promotions on (UTC)',
    { value: choice.on ?? format.today() },
    (day) => {
      isChosen = day !== ''
      change()
    },
  )
  const dateOfList = dateField('Day', { value: choice.date ?? '', required: true }, () => change())
  const past = { value: choice.asOf ?? '', min: '2000-01-01', max: format.today() }
  const asOfField = dateField('As of (UTC)', past, () => change())
  const [on, date, asOf] = [onField.input, dateOfList.input, asOfField.input]
  const dateLabel = dateOfList.element
  element.append(onField.element, dateLabel, asOfField.element)
  // A single-line field would drop line ends, which a code may contain.
  const shown = code.value
  const wantedCode = () => (code.value === shown ? choice.code : code.value)
  let isChosen = choice.on !== undefined
  let looking = new AbortController()
  const look = () => {
    document.title = [wantedCode(), 'Prices', 'Pricewell'].filter(Boolean).join(' · ')
    looking.abort()
    looking = new AbortController()
    const current = AbortSignal.any([signal, looking.signal])
    const chosen = lists.find(({ id }) => String(id) === list.value)
    dateLabel.hidden = !chosen?.is_calendar
    if (chosen?.is_calendar) setCalendar(date, chosen)
    if (wantedCode() === '' || !chosen)
      return fill(place, current, async () => invitation(lists, chosen))
    const past = format.endOf(asOf.value) ? asOf.value : undefined
    // A read of the past uses the promotions of that day, unless another day is chosen.
    if (!isChosen) on.value = past ?? format.today()
    const wanted = { code: wantedCode(), list: chosen, on: on.value, asOf: past }
    const day = chosen.is_calendar ? date.value : undefined
    return fill(place, current, () => showPricesOf({ ...wanted, date: day }, current, onDay))
  }
  const remember = () => {
    const wanted = { code: wantedCode(), list: list.value, on: isChosen ? on.value : undefined }
    const day = dateLabel.hidden ? undefined : date.value
    const as_of = format.endOf(asOf.value) && asOf.value
    history.replaceState(null, '', href('prices', { ...wanted, date: day, as_of }))
  }
  const onDay = (/** @type {string} */ day) => {
    date.value = day
    remember()
  }
  const change = () => {
    if (signal.aborted) return
    remember()
    void look()
  }
  code.addEventListener('input', debounced(change))
  code.addEventListener(
    'input',
    debounced(() => void suggest(code, codes, signal)),
  )
  list.addEventListener('change', change)
  void look()
  return element
}

/**
 * @param {PriceList[]} lists
 * @param {Choice} choice
 */
function choiceFields(lists, choice) {
  const codes = el('datalist', { id: 'codes' })
  const text = { dir: 'auto', maxlength: 255, autocomplete: 'off', spellcheck: 'false' }
  const suggestions = { list: codes.id, placeholder: 'Product code' }
  const code = el('input', { type: 'search', value: choice.code, ...text, ...suggestions })
  const options = lists.map((one) => el('option', { value: one.id, dir: 'auto' }, one.name))
  const list = el('select', {}, options)
  const preferred = lists.find(({ id }) => id === choice.list)
  const first = lists.find((one) => one.is_published) ?? lists[0]
  // Does not replace a deleted list with another, whose prices would be mistaken for the wanted ones.
  list.value = String((choice.list === undefined ? first : preferred)?.id ?? '')
  const labels = [labelled('Product code', code), codes, labelled('Price list', list)]
  return { code, codes, list, element: el('div', { class: 'choice' }, labels) }
}

/**
 * Sets the field to today if the list covers it, otherwise to another day of the list.
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

/**
 * @param {PriceList[]} lists
 * @param {PriceList | undefined} chosen
 */
function invitation(lists, chosen) {
  if (chosen) return empty('Which product?', 'Start typing its code; matching codes are suggested.')
  return lists.length === 0
    ? empty('There are no price lists yet.', 'Prices are read from a list.')
    : empty('There is no such price list.', 'It may have been deleted. Choose another one.')
}

/**
 * Suggests codes that begin with the text of the field.
 *
 * @param {HTMLInputElement} field
 * @param {Element} codes
 * @param {AbortSignal} signal
 */
async function suggest(field, codes, signal) {
  const prefix = field.value
  if (prefix === '') return codes.replaceChildren()
  const query = { code_prefix: prefix, limit: 200 }
  const { results } = await get('/api/v1/product_catalog/', query, signal).catch(() => ({
    results: [],
  }))
  if (field.value !== prefix) return
  /** @type {Set<string>} */
  const found = new Set(results.map((/** @type {{ code: string }} */ { code }) => code))
  codes.replaceChildren(...[...found].slice(0, 20).map((value) => el('option', { value })))
}
