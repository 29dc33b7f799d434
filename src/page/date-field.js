import { el, labelled } from './dom.js'

/**
 * A labelled field for a day. Calls `onDay` for a picked day at once. While a day is typed, each digit makes another
 * day: the last one counts, when Enter is pressed or the field loses the focus. Says what is wrong with another one.
 *
 * @param {string} label
 * @param {import('./dom.js').Attributes} attributes
 * @param {(day: string) => void} onDay
 */
export function dateField(label, attributes, onDay) {
  let isTyping = false
  let before = String(attributes.value ?? '')
  const fault = el('span', { class: 'hint', role: 'alert' })
  const take = () => {
    isTyping = false
    fault.textContent = input.validationMessage
    if (input.value === before || !input.checkValidity()) return
    before = input.value
    onDay(input.value)
  }
  const input = el('input', {
    type: 'date',
    ...attributes,
    onfocus: () => {
      before = input.value
    },
    onkeydown: ({ key }) => {
      isTyping = key !== 'Enter'
      if (key === 'Enter') take()
    },
    onchange: () => isTyping || take(),
    onblur: () => isTyping && take(),
  })
  return { input, element: labelled(label, input, fault) }
}
