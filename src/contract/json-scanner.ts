import { readExactNumber } from '../lib/decimal.ts'
import type { ProblemType } from './problem.ts'

const depthMax = 32
/**
 * The most keys of an object, and columns of a file. The contract needs a few hundred; millions would be checked
 * without a pause.
 */
export const keysMax = 10_000
/**
 * The most values in a row, or outside the rows: parsed in about 50 ms. Thirty columns listing their values have
 * 300,000.
 */
const valuesMax = 500_000

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a

/** A part of the sliced array, up to the comma or bracket at `end`; `members` counts those in its `rows` items. */
export interface Slice {
  start: number
  end: number
  rows: number
  members: number
}

/**
 * Scans the bytes of a JSON text, a given number at a time. Counts members; finds depth over 32, more than 10,000 keys
 * in an object, more than 500,000 values in a row, and too many containers; cuts the first long array, the text itself
 * or a member of it, at commas. JSON.parse checks the syntax.
 */
export class JsonScanner {
  /** Members of all objects outside the slices. */
  members = 0
  /** The number of objects and arrays. */
  containers = 0
  /** Why the text is refused. Not thrown: a stack trace costs more than a line, and each line may have a fault. */
  fault: { type: ProblemType; detail: string } | undefined
  /** Slices of the first array that is longer than a slice. */
  readonly slices: Slice[] = []

  readonly #bytes: Buffer
  readonly #sliceBytes: number
  readonly #containersMax: number
  #index = 0
  #inString = false
  #depth = 0
  /** The number of keys of the open object at each depth. */
  readonly #keys: number[] = []
  /** Start of the open array's part that is in no slice yet; -1 outside arrays that may be sliced. */
  #start = -1
  #startMembers = 0
  /** Commas between items since the last slice. */
  #rows = 0
  #arrayDepth = 0
  #isSliced = false
  /** The number of commas outside the slices: all, those before the current row, and those before the array. */
  #values = 0
  #rowValues = 0
  #startValues = 0

  /** `containersMax` bounds objects and arrays, which take far more memory than their bytes. */
  constructor(bytes: Buffer, sliceBytes: number, containersMax: number) {
    this.#bytes = bytes
    this.#sliceBytes = sliceBytes
    this.#containersMax = containersMax
  }

  /** Scans `count` more bytes. Returns false at the end or at a fault. */
  advance(count: number): boolean {
    const end = Math.min(this.#bytes.length, this.#index + count)
    while (this.#index < end)
      this.#index = this.#inString ? this.#walkString(end) : this.#walkOutside(end)
    return this.fault === undefined && this.#index < this.#bytes.length
  }

  /** Returns the index after the string. */
  #walkString(end: number): number {
    const bytes = this.#bytes
    let index = this.#index
    for (; index < end; index++) {
      const byte = bytes[index]
      if (byte === backslash) index++
      else if (byte === quote) {
        this.#inString = false
        return index + 1
      }
    }
    return index
  }

  /** Returns the index after the quote that begins a string. */
  #walkOutside(end: number): number {
    const bytes = this.#bytes
    let index = this.#index
    for (; index < end; index++) {
      const byte = bytes[index]
      if (byte === quote) {
        this.#inString = true
        return index + 1
      }
      if (byte === colon) this.#countKey()
      else if (byte === comma) this.#nextValue(index)
      else if (byte === 0x7b || byte === 0x5b) this.#open(byte === 0x5b, index)
      else if (byte === 0x7d || byte === 0x5d) this.#close(index)
    }
    return index
  }

  #open(isArray: boolean, index: number): void {
    if (++this.#depth > depthMax)
      this.#refuse('malformed-body', `The body is nested deeper than ${depthMax} levels.`)
    if (++this.containers > this.#containersMax)
      this.#refuse('payload-too-large', tooManyContainers(this.#containersMax))
    this.#keys[this.#depth] = 0
    if (!isArray || this.#depth > 2 || this.#start >= 0 || this.#isSliced) return
    this.#start = index + 1
    this.#startMembers = this.members
    this.#rows = 0
    this.#startValues = this.#values
    this.#rowValues = this.#values
    this.#arrayDepth = this.#depth
  }

  #countKey(): void {
    this.members++
    const keys = (this.#keys[this.#depth] ?? 0) + 1
    this.#keys[this.#depth] = keys
    if (keys > keysMax) this.#refuse('malformed-body', `An object has more than ${keysMax} keys.`)
  }

  #refuse(type: ProblemType, detail: string): void {
    this.fault ??= { type, detail }
  }

  #close(index: number): void {
    if (this.#start >= 0 && this.#depth === this.#arrayDepth) this.#closeArray(index)
    this.#depth--
  }

  #closeArray(index: number): void {
    this.#isSliced = this.slices.length > 0
    if (this.#isSliced) {
      this.#rows++
      this.#slice(index)
      this.#values = this.#startValues
    }
    this.#rowValues = this.#depth === 1 ? this.#values : 0
    this.#rejectValues()
    this.#start = -1
  }

  #nextValue(index: number): void {
    this.#values++
    if (this.#start < 0 || this.#depth !== this.#arrayDepth) this.#rejectValues()
    else {
      this.#rowValues = this.#values
      this.#rows++
      if (index - this.#start >= this.#sliceBytes) this.#slice(index)
    }
  }

  #rejectValues(): void {
    if (this.#values - this.#rowValues < valuesMax) return
    const part = 'A row of the body, or all that stands around its rows,'
    this.#refuse('malformed-body', `${part} has more than ${valuesMax} values.`)
  }

  #slice(end: number): void {
    const members = this.members - this.#startMembers
    this.slices.push({ start: this.#start, end, rows: this.#rows, members })
    this.members = this.#startMembers
    this.#rows = 0
    this.#start = end + 1
  }
}

function tooManyContainers(containersMax: number): string {
  return `A call takes at most ${containersMax} objects and arrays, this one has more. Send them in several calls.`
}

/** The index after the string that begins at `start`; the length of the text if it is not closed. */
export function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const character = text.charCodeAt(index)
    if (character === quote) return index + 1
    if (character === backslash) index++
  }
  return text.length
}

/** 16 digits, an exponent (which may make the number 0 or infinite) or -0. Also matches inside strings. */
const inexactPossible = /[:[,\s](?:-?(?:[\d.]{16}|\d[\d.]*[eE])|-0(?:\.0*)?(?![.\d]))/

/** Matches each such number in full, and some others. */
const suspect = /(?<![\w.+-])(?:-0[\d.eE+-]*|-?[\d.]{16}[\d.eE+-]*|-?[\d.]{1,15}[eE][\d+-]*)/g

/**
 * Replaces a number that a double cannot hold as written with one that JSON.parse makes infinite, and -0 with 0. A
 * reviver could do this, but takes sixty times as long as JSON.parse.
 */
export function withExactNumbers(text: string): string {
  if (!inexactPossible.test(text)) return text
  const parts: string[] = []
  let copied = 0
  for (let start = 0; start < text.length; ) {
    const quote = text.indexOf('"', start)
    const end = quote < 0 ? text.length : quote
    const between = text.slice(start, end)
    const exact = between.replace(suspect, exactNumber)
    if (exact !== between) {
      parts.push(text.slice(copied, start), exact)
      copied = end
    }
    start = quote < 0 ? end : endOfString(text, quote)
  }
  return parts.join('') + text.slice(copied)
}

/** Keeps a number if a double preserves the digits as written. Other text is left alone. */
function exactNumber(source: string): string {
  const value = readExactNumber(source)
  if (value === undefined) return source
  if (!Number.isFinite(value)) return value < 0 ? '-1e999' : '1e999'
  return value === 0 ? '0' : source
}
