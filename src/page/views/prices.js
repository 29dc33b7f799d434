import { Failure, get, getPage } from '../api.js'
import { dateField } from '../date-field.js'
import { debounced, el, labelled } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty, fill, refilling } from '../states.js'
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
  const refill = refilling(place, signal)
  const look = () => {
    const list = lists.find(({ id }) => String(id) === fields.list.value)
    fitTo(list, fields)
    const wanted = chosenIn(fields)
    document.title = [wanted.code, 'Prices', 'Pricewell'].filter(Boolean).join(' · ')
    const on = fields.on.input.value
    return refill(async (current) =>
      wanted.code === '' || !list
        ? invitation(lists, list)
        : showPricesOf({ ...wanted, list, on }, current, onDay),
    )
  }
  const remember = () => {
    const { asOf: as_of, ...others } = chosenIn(fields)
    history.replaceState(null, '', href('prices', { ...others, as_of }))
  }
  const onDay = (/** @type {string} */ day) => {
    fields.date.input.value = day
    remember()
  }
  const fields = choiceFields(lists, choice, signal, () => {
    if (signal.aborted) return
    remember()
    void look()
  })
  void look()
  return fields.element
}

/**
 * @param {PriceList[]} lists
 * @param {Choice} choice
 * @param {AbortSignal} signal
 * @param {() => void} onChange
 */
function choiceFields(lists, choice, signal, onChange) {
  const codes = el('datalist', { id: 'codes' })
  const text = { dir: 'auto', maxlength: 255, autocomplete: 'off', spellcheck: 'false' }
  const suggestions = { list: codes.id, placeholder: 'Product code' }
  const oninput = debounced(() => {
    onChange()
    void suggest(code, codes, signal)
  })
  const code = el('input', { type: 'search', value: choice.code, ...text, ...suggestions, oninput })
  // A single-line field drops line ends, which a code may contain.
  const shown = code.value
  const codeOf = () => (code.value === shown ? choice.code : code.value)
  const list = listField(lists, choice.list, onChange)
  const on = dateField('Promotions on (UTC)', { value: choice.on ?? format.today() }, (day) => {
    fields.isOnChosen = day !== ''
    onChange()
  })
  const date = dateField('Day', { value: choice.date ?? '', required: true }, onChange)
  const past = { value: choice.asOf ?? '', min: '2000-01-01', max: format.today() }
  const asOf = dateField('As of (UTC)', past, onChange)
  const labels = [labelled('Product code', code), codes, labelled('Price list', list)]
  const days = [on, date, asOf].map(({ element }) => element)
  const element = el('div', { class: 'choice' }, labels, days)
  const isOnChosen = choice.on !== undefined
  const fields = { element, codeOf, list, on, date, asOf, isOnChosen }
  return fields
}

/** @typedef {ReturnType<typeof choiceFields>} Fields */

/**
 * @param {PriceList[]} lists
 * @param {number | undefined} wanted
 * @param {() => void} onchange
 */
function listField(lists, wanted, onchange) {
  const options = lists.map((one) => el('option', { value: one.id, dir: 'auto' }, one.name))
  const field = el('select', { onchange }, options)
  const preferred = lists.find(({ id }) => id === wanted)
  const first = lists.find((one) => one.is_published) ?? lists[0]
  // Does not replace a deleted list with another, whose prices would be mistaken for the wanted ones.
  field.value = String((wanted === undefined ? first : preferred)?.id ?? '')
  return field
}

/** What the fields say, without a day that was not chosen. @param {Fields} fields */
function chosenIn({ codeOf, list, on, date, asOf, isOnChosen }) {
  return {
    code: codeOf(),
    list: list.value,
    on: isOnChosen ? on.input.value : undefined,
    date: date.element.hidden ? undefined : date.input.value,
    asOf: format.endOf(asOf.input.value) && asOf.input.value,
  }
}

/**
 * Shows the day of a calendar list only. A read of the past uses the promotions of that day, unless another is chosen.
 *
 * @param {PriceList | undefined} list
 * @param {Fields} fields
 */
function fitTo(list, { date, on, asOf, isOnChosen }) {
  date.element.hidden = !list?.is_calendar
  if (list?.is_calendar) setCalendar(date.input, list)
  const past = format.endOf(asOf.input.value) && asOf.input.value
  if (!isOnChosen) on.input.value = past ?? format.today()
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
