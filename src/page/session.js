const key = 'pricewell.token'
const answerMs = 150

/** The wider scopes that include each scope. @type {Record<string, string[]>} */
const wider = { read: ['plan', 'write'], plan: ['write'] }

/** Reaches other tabs that show this page. */
const tabs = new BroadcastChannel(`pricewell ${location.pathname}`)

/** The token, kept until the last tab is closed: a new tab gets it from the others. */
export const session = {
  get token() {
    return sessionStorage.getItem(key) ?? ''
  },
  /** @param {string} token */
  start(token) {
    sessionStorage.setItem(key, token)
  },
  /** Ends the session in all tabs. */
  end() {
    tabs.postMessage({ ended: session.token })
    sessionStorage.removeItem(key)
  },
  /** Requests the token from other tabs, and waits a moment for it. */
  async join() {
    if (session.token !== '') return
    tabs.postMessage({ wanted: true })
    await new Promise((resolve) => {
      addEventListener('session-joined', resolve, { once: true })
      setTimeout(resolve, answerMs)
    })
  },
  /** Whether the token claims this scope; the service decides. @param {string} scope */
  allows(scope) {
    const scopes = claimsOf(this.token).scope?.split(' ') ?? []
    return [scope, ...(wider[scope] ?? [])].some((one) => scopes.includes(one))
  },
  /** Whether the token is a user's; an API key has no password. */
  get isOfUser() {
    return /^\d+$/.test(claimsOf(this.token).sub ?? '')
  },
}

/** @param {string} token @returns {{ scope?: string, sub?: string }} */
function claimsOf(token) {
  const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
  try {
    return JSON.parse(atob(payload))
  } catch {
    return {}
  }
}

tabs.addEventListener('message', ({ data: { wanted, token, ended } }) => {
  if (wanted && session.token !== '') tabs.postMessage({ token: session.token })
  if (token && session.token === '') {
    session.start(token)
    dispatchEvent(new Event('session-joined'))
  }
  if (ended && ended === session.token) {
    sessionStorage.removeItem(key)
    dispatchEvent(new Event('session-ended'))
  }
})
