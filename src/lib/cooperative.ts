const waiting: (() => void)[] = []

/**
 * For work that is done in slices. Between two looks at the sockets and the database one slice is done, of all that is
 * under way: however many large bodies there are, a small request waits for one slice and not for one of each.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(resumeOne)
  })
}

function resumeOne(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(resumeOne)
}
