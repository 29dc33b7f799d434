import { byId, el, focusOn } from './dom.js'
import { href, readRoute } from './routes.js'
import { session } from './session.js'
import { empty } from './states.js'
import { showJobs } from './views/jobs.js'
import { showList } from './views/list.js'
import { showLists } from './views/lists.js'
import { showLogin } from './views/login.js'
import { showPassword } from './views/password.js'
import { showPlan } from './views/plan.js'
import { showPlans } from './views/plans.js'
import { showPrices } from './views/prices.js'
import { showRevision } from './views/revision.js'

/**
 * Shows a route until the signal aborts.
 *
 * @template Route
 * @typedef {(main: HTMLElement, route: Route, signal: AbortSignal) => void} View
 */

/** The view above another. @type {Record<string, string>} */
const above = { list: 'lists', revision: 'lists', plan: 'plans' }

const main = byId('main')
let leaving = new AbortController()
let shown = ''

addEventListener('hashchange', () => show())
addEventListener('session-ended', () => show('Your session has ended. Please log in again.'))
byId('sign-out').addEventListener('click', () => {
  session.end()
  show()
})
byId('skip').addEventListener('click', (event) => {
  event.preventDefault()
  main.focus()
})
await session.join()
addEventListener('session-joined', () => show())
show()

/** @param {string} [notice] */
function show(notice) {
  leaving.abort()
  leaving = new AbortController()
  const isOpen = session.token !== ''
  byId('nav').hidden = !isOpen
  byId('own-password').hidden = !session.isOfUser
  byId('sign-out').hidden = !isOpen
  main.replaceChildren()
  main.removeAttribute('aria-busy')
  if (isOpen) showRoute(leaving.signal)
  else showLogin(main, { notice, onLogin: () => show() })
  const heading = main.querySelector('h1')?.textContent
  document.title = [heading, 'Pricewell'].filter(Boolean).join(' · ')
  if (shown !== '') focusHeading()
  shown = location.hash || '#'
}

/** @param {AbortSignal} signal */
function showRoute(signal) {
  const route = readRoute(location.hash)
  for (const link of byId('nav').querySelectorAll('a')) {
    if (link.dataset.view === (above[route.view] ?? route.view))
      link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  switch (route.view) {
    case 'lists':
      return showLists(main, route, signal)
    case 'list':
      return showList(main, route, signal)
    case 'revision':
      return showRevision(main, route, signal)
    case 'prices':
      return showPrices(main, route, signal)
    case 'plans':
      return showPlans(main, route, signal)
    case 'plan':
      return showPlan(main, route, signal)
    case 'jobs':
      return showJobs(main, route, signal)
    case 'password':
      return showPassword(main, leaveForLogin)
    default:
      main.replaceChildren(
        el('h1', {}, 'Page not found'),
        empty('There is no such page.', 'Choose one above.'),
      )
  }
}

/** Changing the password has ended the token. */
function leaveForLogin() {
  session.end()
  history.replaceState(null, '', href('lists'))
  show('Your password is changed. Log in with the new one.')
}

function focusHeading() {
  const heading = main.querySelector('h1')
  if (heading) focusOn(heading)
}
