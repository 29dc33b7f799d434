import { Problem } from '../contract/problem.ts'

/** The file cannot be read on from the line. */
export function malformedFile(detail: string, line?: number, cause?: unknown): Problem {
  const error = { pointer: '', code: 'malformed_row', message: detail } as const
  return new Problem('malformed-file', detail, {
    ...(line !== undefined && { errors: [{ ...error, line }] }),
    cause,
  })
}
