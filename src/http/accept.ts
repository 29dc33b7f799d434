/**
 * The media type that an Accept header likes best, of those that can be answered (the usual one first); undefined: none
 * is accepted. Without the header it is the usual one.
 */
export function chooseMediaType(
  accept: string | undefined,
  answers: readonly string[],
): string | undefined {
  if (accept === undefined) return answers[0]
  const ranges = accept.split(',').map(readRange)
  const rated = answers.map((mediaType) => ({ mediaType, quality: qualityOf(mediaType, ranges) }))
  const best = rated.reduce((best, one) => (one.quality > best.quality ? one : best))
  return best.quality > 0 ? best.mediaType : undefined
}

interface Range {
  type: string
  quality: number
}

function readRange(range: string): Range {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const [, quality = '1'] = parameters.map((one) => /^q=([\d.]+)$/.exec(one)).find(Boolean) ?? []
  return { type, quality: Number(quality) }
}

/** The quality of the most precise range that covers the media type; 0: none does. */
function qualityOf(mediaType: string, ranges: Range[]): number {
  for (const type of [mediaType, `${mediaType.split('/')[0]}/*`, '*/*']) {
    const range = ranges.find((one) => one.type === type)
    if (range) return range.quality
  }
  return 0
}
