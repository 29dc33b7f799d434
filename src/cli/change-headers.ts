/** What a user says about a change. */
export interface SaidOfChange {
  /** Why, for the log. */
  note?: string | undefined
  /** Why the guardrails do not hold. */
  override?: string | undefined
}

/** The headers of a call that changes a list. */
export const changeHeaders = ({ note, override }: SaidOfChange) => ({
  ...(note && { 'Change-Note': latin1(note) }),
  ...(override && { 'Override-Guardrails': latin1(override) }),
})

/** A header is Latin-1; the service reads it as UTF-8. */
const latin1 = (text: string) => Buffer.from(text).toString('latin1')
