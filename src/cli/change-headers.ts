export interface SaidOfChange {
  /** The reason for the change, for the log. */
  note?: string | undefined
  /** The reason to override guardrails. */
  override?: string | undefined
}

/** The Change-Note and Override-Guardrails headers of a call that changes a list. */
export const changeHeaders = ({ note, override }: SaidOfChange) => ({
  ...(note && { 'Change-Note': note }),
  ...(override && { 'Override-Guardrails': override }),
})
