import { readFileSync, statSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { UsageFault } from './faults.ts'

/** More than is asked to be in memory at once. NDJSON may be of any size. */
const bytesMax = 256 * 1024 * 1024

/** Throws `UsageFault` unless the file is one JSON array. Answers how long it is as NDJSON. */
export function checkArray(name: string, isGzip: boolean): number {
  const text = readText(name, isGzip)
  let rows: unknown
  try {
    rows = JSON.parse(text)
  } catch (error) {
    throw new UsageFault(`${name} is no JSON: ${(error as Error).message}`)
  }
  if (!Array.isArray(rows)) throw new UsageFault(`${name} is no JSON array of rows.`)
  return Buffer.byteLength(asLines(text))
}

/** The rows of an array as NDJSON. */
export function readArray(name: string, isGzip: boolean): Buffer {
  return Buffer.from(asLines(readText(name, isGzip)))
}

function readText(name: string, isGzip: boolean): string {
  if (statSync(name).size > bytesMax) throw tooLarge(name)
  const stored = readFileSync(name)
  const bytes = isGzip ? unzip(name, stored) : stored
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UsageFault(`${name} is not valid UTF-8.`)
  }
}

function unzip(name: string, bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(name)
    throw new UsageFault(`${name} is not whole and valid gzip.`)
  }
}

function tooLarge(name: string): UsageFault {
  return new UsageFault(
    `${name} is larger than ${bytesMax / 1024 / 1024} MB: make it NDJSON, a row on each line.`,
  )
}

/**
 * The rows of a JSON array, each on a line and as it is written: a number may have more digits than can be kept, a key
 * may be there twice, and both are for the service to refuse.
 */
function asLines(text: string): string {
  let lines = ''
  let depth = 0
  let start = text.indexOf('[') + 1
  for (let at = start; at < text.length; at++) {
    const token = text[at]
    if (token === '"') at = endOfString(text, at)
    else if (token === '[' || token === '{') depth++
    else if (depth > 0 && (token === ']' || token === '}')) depth--
    else if (depth === 0 && (token === ',' || token === ']')) {
      lines += lineOf(text.slice(start, at))
      start = at + 1
    }
  }
  return lines
}

/** Line ends are between tokens: inside a string they are escaped. */
function lineOf(row: string): string {
  const line = row.replace(/[\r\n]+/g, ' ').trim()
  return line && `${line}\n`
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
