const waiting: (() => void)[] = []

/**
 * Yields to the event loop between slices of long work. Only one waiting slice runs per loop iteration, so a small
 * request waits for one slice, not for one of each large request.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(resumeOne)
  })
}

function resumeOne(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(resumeOne)
}

const sliceMs = 5

/** Items between two readings of the clock, each of which costs as much as an item. */
const itemsALook = 8

/** Maps items in order; lets other requests run every 5 ms. */
export async function mapCooperatively<T, R>(
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
    await yieldToEventLoop()
    began = performance.now()
  }
  return results
}

/** This many items are sorted in a few milliseconds. */
const runLength = 10_000

type Compare<T> = (a: T, b: T) => number

/** Like `toSorted`, in runs of 10,000 items; other requests run in between. */
export async function sortCooperatively<T>(
  items: readonly T[],
  compare?: Compare<T>,
): Promise<T[]> {
  let runs: T[][] = []
  for (let from = 0; from < items.length; from += runLength) {
    if (from > 0) await yieldToEventLoop()
    runs.push(items.slice(from, from + runLength).sort(compare))
  }
  while (runs.length > 1) runs = await mergePairs(runs, compare)
  return runs[0] ?? []
}

/** `sort` (TimSort) detects two sorted runs and merges them. */
async function mergePairs<T>(runs: T[][], compare?: Compare<T>): Promise<T[][]> {
  const merged: T[][] = []
  for (let index = 0; index < runs.length; index += 2) {
    await yieldToEventLoop()
    const [first = [], second = []] = runs.slice(index, index + 2)
    merged.push(first.concat(second).sort(compare))
  }
  return merged
}
