/**
 * Parses server-sent events from chunks of any size, without comments.
 *
 * @param {AsyncIterable<string>} pieces
 * @returns {AsyncGenerator<{ event: string, data: string }>}
 */
export async function* readEvents(pieces) {
  let rest = ''
  for await (const piece of pieces) {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = block.split('\n').map((line) => line.split(/: ?(.*)/s))
      const fieldOf = (/** @type {string} */ key) =>
        fields
          .filter(([field]) => field === key)
          .map(([, value]) => value ?? '')
          .join('\n')
      if (fieldOf('data') !== '') yield { event: fieldOf('event'), data: fieldOf('data') }
    }
  }
}
