const wellFormed = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Nearly all; a double holds 15 digits. */
const plain = /^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$/

/**
 * The number that a text stands for where it is one of JSON; infinite: a double cannot hold it as it was written. -0 is the
 * 0 that it is read back as.
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
