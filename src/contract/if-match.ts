import { Problem } from './problem.ts'

/** A tag changed by a compressing proxy: nginx makes it weak (`W/"1"`), Apache appends the coding (`"1-gzip"`). */
const byProxies = /^(?:W\/)?"(.*?)(?:-(?:gzip|br|zstd|deflate))?"$/s

/**
 * Whether an If-Match or If-None-Match header names this tag, even as changed by a compressing proxy: the tags stand
 * for a state, not for bytes. They contain no comma.
 */
export function namesTag(header: string, etag: string): boolean {
  const tags = header.split(',').map((tag) => tag.trim().replace(byProxies, '"$1"'))
  return tags.includes(etag) || header.trim() === '*'
}

/** Throws `precondition-failed` if the If-Match header does not name this tag. */
export function rejectOutdated(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || namesTag(ifMatch, etag)) return
  throw new Problem('precondition-failed', `The present ETag is ${etag}. Nothing was written.`)
}
