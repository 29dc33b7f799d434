import { nextTurn } from '../next-turn.ts'

/** Work for one request at a stretch; then other requests get their turn. */
const sliceMs = 5

/** Maps the items in order and lets other requests have their turn in between, however many or costly the items are. */
export async function mapInTurns<T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> {
  const results: R[] = []
  let began = performance.now()
  for (const item of items) {
    results.push(map(item))
    if (performance.now() - began < sliceMs) continue
    await nextTurn()
    began = performance.now()
  }
  return results
}
