const key = 'pricewell.token'
const answerMs = 150

/** Other tabs with this page. */
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
  /** Asks the other tabs for their token, for a moment. */
  async join() {
    if (session.token !== '') return
    const answered = new Promise((resolve) => tabs.addEventListener('message', resolve))
    tabs.postMessage({ wanted: true })
    await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, answerMs))])
  },
}

tabs.addEventListener('message', ({ data: { wanted, token, ended } }) => {
  if (wanted && session.token !== '') tabs.postMessage({ token: session.token })
  if (token && session.token === '') session.start(token)
  if (ended && ended === session.token) {
    sessionStorage.removeItem(key)
    dispatchEvent(new Event('session-ended'))
  }
})
