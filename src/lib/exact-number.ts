const wellFormed = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Nearly all numbers, at most 15 digits, which a double holds exactly. */
const plain = /^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$/

/**
 * The number that a text is in JSON; undefined: it is none; infinite: a double cannot hold it as written. -0 becomes 0, as
 * it is read back.
 */
export function readExactNumber(text: string): number | undefined {
  if (plain.test(text)) return Number(text) + 0
  if (!wellFormed.test(text)) return undefined
  const value = Number(text)
  if (significantDigits(text) !== significantDigits(String(value)))
    return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return value === 0 ? 0 : value
}

function significantDigits(number: string): string {
  const [mantissa = ''] = number.split(/e/i, 1)
  const digits = mantissa.replace(/[-+.]/g, '').replace(/^0+/, '')
  let end = digits.length
  // Not /0+$/, which looks at each 0 as often as there are 0 before it.
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
