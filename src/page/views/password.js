import { Failure, post } from '../api.js'
import { el } from '../dom.js'
import { field, form } from './login.js'

/**
 * A form to change the user's own password. Calls `onChanged` afterwards, when the token has ended.
 *
 * @param {HTMLElement} main
 * @param {() => void} onChanged
 */
export function showPassword(main, onChanged) {
  const problem = el('div', {})
  const secret = { type: 'password', maxlength: 255 }
  const fresh = { ...secret, minlength: 12, autocomplete: 'new-password' }
  const current = field('Current password', { ...secret, autocomplete: 'current-password' })
  const wanted = field('New password', { ...fresh, 'aria-describedby': 'password-rule' })
  const again = field('New password once more', fresh)
  const submit = async () => {
    if (again.input.value !== wanted.input.value)
      throw new Failure({ title: 'The new passwords differ', detail: 'Nothing was changed.' })
    const body = { current_password: current.input.value, new_password: wanted.input.value }
    await post('/api/v1/users/change_password/', body)
    onChanged()
  }
  main.replaceChildren(
    el(
      'section',
      { class: 'login' },
      el('h1', {}, 'Change your password'),
      el(
        'p',
        { class: 'hint', id: 'password-rule' },
        'At least 12 characters; a few unrelated words are easy to remember and hard to guess. All your logins end within 10 seconds, this one at once. API keys stay.',
      ),
      problem,
      form('Change password', [current, wanted, again], problem, submit),
    ),
  )
}
