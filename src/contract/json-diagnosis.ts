import { pointerSegment } from './row-errors.ts'

/** What JSON.parse does not reveal about a text. The text must be nested at most 32 levels. */
export interface Diagnosis {
  /** The index of the first invalid character; the length of the text if there is none. */
  brokenAt: number
  /** The JSON Pointer of the first repeated key. */
  repeatedKey: string | undefined
  /** The members, as written, of a text that is an object. */
  members: { key: string; text: string }[]
}

/** Reads a JSON text character by character. 50 times slower than JSON.parse, so only for texts with a fault. */
export function diagnose(text: string): Diagnosis {
  const tokenizer = new Tokenizer(text)
  try {
    tokenizer.readText()
  } catch (error) {
    if (!(error instanceof Broken)) throw error
  }
  return tokenizer
}

class Broken extends Error {}

const blank = /[ \t\n\r]*/y
const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

class Tokenizer implements Diagnosis {
  brokenAt = 0
  repeatedKey: string | undefined
  readonly members: { key: string; text: string }[] = []
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  readText(): void {
    this.#readValue('')
    this.#skip(blank)
  }

  #readValue(pointer: string): void {
    this.#skip(blank)
    const character = this.#text[this.brokenAt]
    if (character === '"') this.#readString()
    else if (character === '{') this.#readObject(pointer)
    else if (character === '[') this.#readArray(pointer)
    else if (!this.#skip(scalar)) throw new Broken()
  }

  #readArray(pointer: string): void {
    let index = 0
    this.#readItems(']', () => this.#readValue(`${pointer}/${index++}`))
  }

  #readObject(pointer: string): void {
    const keys = new Set<string>()
    this.#readItems('}', () => {
      const start = this.brokenAt
      this.#readString()
      const key = JSON.parse(this.#text.slice(start, this.brokenAt))
      const place = `${pointer}/${pointerSegment(key)}`
      if (keys.has(key)) this.repeatedKey ??= place
      keys.add(key)
      this.#expect(':')
      this.#readValue(place)
      const text = this.#text.slice(start, this.brokenAt)
      if (pointer === '') this.members.push({ key, text })
    })
  }

  #readItems(close: string, readItem: () => void): void {
    this.brokenAt++
    this.#skip(blank)
    for (let isFirst = true; this.#text[this.brokenAt] !== close; isFirst = false) {
      if (!isFirst) this.#expect(',')
      this.#skip(blank)
      readItem()
      this.#skip(blank)
    }
    this.brokenAt++
  }

  #readString(): void {
    this.#expect('"')
    for (let character = ''; character !== '"'; ) {
      character = this.#text[this.brokenAt] ?? ''
      if (character < ' ') throw new Broken()
      if (character !== '\\') this.brokenAt++
      else if (!this.#skip(escaped)) throw new Broken()
    }
  }

  #expect(character: string): void {
    this.#skip(blank)
    if (this.#text[this.brokenAt] !== character) throw new Broken()
    this.brokenAt++
  }

  /** Skips the pattern, which may match nothing. Returns whether it matched. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.brokenAt
    const isThere = pattern.test(this.#text)
    if (isThere) this.brokenAt = pattern.lastIndex
    return isThere
  }
}
