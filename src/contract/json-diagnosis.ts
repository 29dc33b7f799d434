import { endOfString } from './json-scanner.ts'
import { pointerSegment } from './row-errors.ts'

/** Where JSON breaks off: the index of the first character that cannot stand there. */
class Fault extends Error {
  readonly index: number

  constructor(index: number) {
    super()
    this.index = index
  }
}

const blank = /[ \t\n\r]*/y
const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/**
 * The index of the first fault of a text that JSON.parse has refused; V8 tells it for some faults only. The text is
 * nested 32 levels at most.
 */
export function findFault(text: string): number {
  try {
    return skip(blank, text, readValue(text, 0))
  } catch (fault) {
    if (fault instanceof Fault) return fault.index
    throw fault
  }
}

/** Reads one value from `start` on; answers where it ends. */
function readValue(text: string, start: number): number {
  const index = skip(blank, text, start)
  switch (text[index]) {
    case '"':
      return readString(text, index)
    case '{':
      return readItems(text, index + 1, '}', (at) =>
        readValue(text, expect(text, readString(text, at), ':')),
      )
    case '[':
      return readItems(text, index + 1, ']', (at) => readValue(text, at))
    default: {
      const end = skip(scalar, text, index)
      if (end === index) throw new Fault(index)
      return end
    }
  }
}

function readItems(
  text: string,
  start: number,
  close: string,
  readItem: (index: number) => number,
): number {
  let index = skip(blank, text, start)
  if (text[index] === close) return index + 1
  for (;;) {
    index = skip(blank, text, readItem(index))
    if (text[index] === close) return index + 1
    index = skip(blank, text, expect(text, index, ','))
  }
}

function readString(text: string, start: number): number {
  let index = expect(text, start, '"')
  while (text[index] !== '"') {
    const next = text[index] === '\\' ? skip(escaped, text, index) : index + 1
    if (next === index || index >= text.length || (text[index] as string) < ' ')
      throw new Fault(index)
    index = next
  }
  return index + 1
}

function expect(text: string, start: number, character: string): number {
  const index = skip(blank, text, start)
  if (text[index] !== character) throw new Fault(index)
  return index + 1
}

function skip(pattern: RegExp, text: string, index: number): number {
  pattern.lastIndex = index
  return pattern.test(text) ? pattern.lastIndex : index
}

/** An object or array that is being read: the keys it has had, or how many items. */
interface Level {
  keys: Set<string> | undefined
  place: string | number
}

/** The JSON Pointer of the first key that its object has had before. `text` is valid JSON. */
export function findRepeatedKey(text: string): string {
  const levels: Level[] = []
  let string = ''
  for (let index = 0; index < text.length; index++) {
    const level = levels.at(-1)
    switch (text[index]) {
      case '"': {
        const end = endOfString(text, index)
        string = text.slice(index, end)
        index = end - 1
        break
      }
      case '{':
        levels.push({ keys: new Set(), place: '' })
        break
      case '[':
        levels.push({ keys: undefined, place: 0 })
        break
      case '}':
      case ']':
        levels.pop()
        break
      case ',':
        if (typeof level?.place === 'number') level.place++
        break
      case ':':
        if (level && !takeKey(level, JSON.parse(string))) return pointerOf(levels)
    }
  }
  return ''
}

/** Whether the key is new to the object. */
function takeKey(level: Level, key: string): boolean {
  level.place = key
  if (level.keys?.has(key)) return false
  level.keys?.add(key)
  return true
}

function pointerOf(levels: Level[]): string {
  return levels.map(({ place }) => `/${pointerSegment(String(place))}`).join('')
}
