import { Failure, post } from '../api.js'
import { el, labelled } from '../dom.js'
import { session } from '../session.js'
import { failed } from '../states.js'

/**
 * @param {HTMLElement} main
 * @param {{ notice: string | undefined, onLogin: () => void }} options
 */
export function showLogin(main, { notice, onLogin }) {
  const problem = el('div', {}, notice && el('p', { class: 'notice', role: 'status' }, notice))
  const email = field('E-mail', { name: 'email', type: 'email', autocomplete: 'username' })
  const password = field('Password', {
    name: 'password',
    type: 'password',
    autocomplete: 'current-password',
  })
  const token = field('Token', { name: 'token', autocomplete: 'off', spellcheck: 'false' })
  const open = (/** @type {string} */ value) => {
    session.start(value)
    onLogin()
  }
  const login = form('Log in', [email, password], problem, async () => {
    open(
      (await post('/login/', { email: email.input.value, password: password.input.value })).token,
    )
  })
  const paste = form('Use this token', [token], problem, async () => {
    const value = token.input.value.trim().replace(/^jwt /i, '')
    // No header can have anything else.
    if (!/^[!-~]+$/.test(value))
      throw new Failure({
        title: 'This is not a token',
        detail: 'It has spaces, quotation marks or letters that no token has.',
      })
    open(value)
  })
  main.replaceChildren(
    el(
      'section',
      { class: 'login' },
      el('h1', {}, 'Log in'),
      el('p', { class: 'hint' }, 'Look at price lists, prices and jobs of your account.'),
      problem,
      login,
      el('details', {}, el('summary', {}, 'I have a token'), paste),
    ),
  )
  email.input.focus()
}

/**
 * A required field with its label.
 *
 * @param {string} label
 * @param {Record<string, string | number>} attributes
 */
export function field(label, attributes) {
  const input = el('input', { required: true, ...attributes })
  return { input, label: labelled(label, input) }
}

/**
 * A form that shows why it was refused and then focuses the secret.
 *
 * @param {string} action
 * @param {{ label: HTMLElement, input: HTMLInputElement }[]} fields
 * @param {Element} problem
 * @param {() => Promise<void>} submit
 */
export function form(action, fields, problem, submit) {
  const button = el('button', { class: 'primary' }, action)
  const onsubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    button.disabled = true
    problem.replaceChildren()
    await submit().catch((error) => {
      problem.replaceChildren(failed(error))
      fields.find(({ input }) => input.type !== 'email')?.input.focus()
    })
    button.disabled = false
  }
  return el(
    'form',
    { onsubmit, method: 'post' },
    fields.map(({ label }) => label),
    button,
  )
}
