import { pointerSegment } from './row-errors.ts'

/** Why a value is refused. Returned, not thrown: a stack trace costs more than a row, and each row may have a fault. */
export class ValueFault {
  readonly reason: string
  /** The JSON Pointer of the faulty text or object. */
  readonly pointer: string

  constructor(reason: string, pointer = '') {
    this.reason = reason
    this.pointer = pointer
  }

  /** The fault of a value, as one of the object or array that has it under `key`. */
  within(key: string | number): ValueFault {
    return new ValueFault(this.reason, `/${pointerSegment(String(key))}${this.pointer}`)
  }
}

export const repeatedKey = new ValueFault('An object has the same key twice')
const protoKey = new ValueFault('"__proto__" is not allowed as a key')
const nul = new ValueFault('A text contains NUL (\\u0000)')
const loneSurrogate = new ValueFault('A text contains a lone surrogate')

/** Counts the members of a value. Checks its texts if there are `escapes`: only they can write NUL and surrogates. */
export function countMembers(value: unknown, escapes: boolean): number | ValueFault {
  if (typeof value === 'string') return (escapes && findTextFault(value)) || 0
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return countInItems(value, escapes)
  let members = 0
  for (const key in value) {
    const fault = key === '__proto__' ? protoKey : escapes && findTextFault(key)
    if (fault) return fault
    const inside = countMembers((value as Record<string, unknown>)[key], escapes)
    if (inside instanceof ValueFault) return inside.within(key)
    members += 1 + inside
  }
  return members
}

function countInItems(items: unknown[], escapes: boolean): number | ValueFault {
  let members = 0
  for (const [index, item] of items.entries()) {
    const inside = countMembers(item, escapes)
    if (inside instanceof ValueFault) return inside.within(index)
    members += inside
  }
  return members
}

function findTextFault(text: string): ValueFault | undefined {
  if (text.includes('\0')) return nul
  return text.isWellFormed() ? undefined : loneSurrogate
}
