/** Pieces as they come; calls `stalled` when one was not taken for so long. */
export async function* untilStalled(
  pieces: AsyncIterable<string>,
  stalledMs: number,
  stalled: () => void,
): AsyncGenerator<string> {
  for await (const piece of pieces) {
    const timer = setTimeout(stalled, stalledMs)
    try {
      yield piece
    } finally {
      clearTimeout(timer)
    }
  }
}
