/** When the service was stopped on purpose: only then may a request stay without an answer. */
export interface Outages {
  begin(): void
  end(): void
  /** Whether it was down at any moment since `from`. */
  covers(from: number): boolean
}

export function recordOutages(): Outages {
  const ended: number[] = []
  let isDown = false
  return {
    begin: () => {
      isDown = true
    },
    end: () => {
      isDown = false
      ended.push(Date.now())
    },
    covers: (from) => isDown || ended.some((end) => end >= from),
  }
}
