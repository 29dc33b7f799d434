const key = 'pricewell.token'

/** The token, kept until this tab is closed. */
export const session = {
  get token() {
    return sessionStorage.getItem(key) ?? ''
  },
  /** @param {string} token */
  start(token) {
    sessionStorage.setItem(key, token)
  },
  end() {
    sessionStorage.removeItem(key)
  },
}
