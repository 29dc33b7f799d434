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

/** Work for one request at a stretch; then other requests get their turn. */
const sliceMs = 5

/** The clock is looked at once for so many cheap items: a look takes as long as one. */
const itemsALook = 8

/** Maps the items in order and lets other requests have their turn in between, however many or long the items are. */
export async function mapInTurns<T, R>(
  items: readonly T[],
  map: (item: T, index: number) => R,
): Promise<R[]> {
  const results: R[] = []
  let began = performance.now()
  let lookAt = 0
  for (let index = 0; index < items.length; index++) {
    results.push(map(items[index] as T, index))
    if (index < lookAt) continue
    const isOver = performance.now() - began >= sliceMs
    lookAt = index + (isOver ? 1 : itemsALook)
    if (!isOver) continue
    await nextTurn()
    began = performance.now()
  }
  return results
}

/** Sorted in a few milliseconds. */
const runLength = 10_000

type Compare<T> = (a: T, b: T) => number

/**
 * Sorts as `toSorted` does: texts by their UTF-16 code units, or by `compare`. Runs are sorted and merged one by one, and
 * others have their turn in between.
 */
export async function sortInTurns<T>(items: readonly T[], compare?: Compare<T>): Promise<T[]> {
  let runs: T[][] = []
  for (let from = 0; from < items.length; from += runLength) {
    if (from > 0) await nextTurn()
    runs.push(items.slice(from, from + runLength).sort(compare))
  }
  while (runs.length > 1) runs = await mergePairs(runs, compare)
  return runs[0] ?? []
}

/** `sort` sees that two sorted runs follow each other, and merges them. */
async function mergePairs<T>(runs: T[][], compare?: Compare<T>): Promise<T[][]> {
  const merged: T[][] = []
  for (let index = 0; index < runs.length; index += 2) {
    await nextTurn()
    const [first = [], second = []] = runs.slice(index, index + 2)
    merged.push(first.concat(second).sort(compare))
  }
  return merged
}
