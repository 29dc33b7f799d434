/** Options of commands that change a price list. */
export interface ChangeOptions {
  /** The reason for the change, for the log. */
  note?: string | undefined
  /** The reason to override guardrails. */
  override?: string | undefined
}

/** The Change-Note and Override-Guardrails headers of a call that changes a list. */
export const changeHeaders = ({ note, override }: ChangeOptions) => ({
  ...(note && { 'Change-Note': note }),
  ...(override && { 'Override-Guardrails': override }),
})
