import { endOfString } from './json-string.ts'
import { pointerSegment } from './row-errors.ts'

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
