export interface SaidOfChange {
  /** The reason for the change, for the log. */
  note?: string | undefined
  /** The reason to override guardrails. */
  override?: string | undefined
}

/** The Change-Note and Override-Guardrails headers of a call that changes a list, in UTF-8. */
export const changeHeaders = ({ note, override }: SaidOfChange) => ({
  ...(note && { 'Change-Note': latin1(note) }),
  ...(override && { 'Override-Guardrails': latin1(override) }),
})

/** Headers are Latin-1; the service decodes these as UTF-8. */
const latin1 = (text: string) => Buffer.from(text).toString('latin1')
