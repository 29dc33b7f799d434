const key = 'pricewell.token'

/** The token, kept for this tab until it is closed. */
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
