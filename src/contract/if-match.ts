import { Problem } from './problem.ts'

/**
 * Throws `precondition-failed` unless the If-Match header allows a change of the state that has this strong tag. `*`
 * and no header allow any; a weak tag is never equal (RFC 9110, 13.1.1). Our tags contain no comma.
 */
export function rejectOutdated(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch === '*') return
  const tags = ifMatch.split(',').map((tag) => tag.trim())
  if (!tags.includes(etag))
    throw new Problem('precondition-failed', `The present ETag is ${etag}. Nothing was written.`)
}
