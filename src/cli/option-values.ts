import { InvalidArgumentError } from '@commander-js/extra-typings'

/** Adds a value, such as country=France, to earlier ones. Throws InvalidArgumentError. */
export function oneValue(
  text: string,
  earlier: Record<string, string> = {},
): Record<string, string> {
  const [name, value] = nameAndValue(text)
  if (Object.hasOwn(earlier, name)) throw new InvalidArgumentError(`${name} has a value already.`)
  return { ...earlier, [name]: value }
}

/** The allowed values by column, as texts. */
export type Conditions = Record<string, string[]>

/** Adds an allowed value of a column, such as country=France. Throws InvalidArgumentError. */
export function condition(text: string, earlier: Conditions = {}): Conditions {
  const [name, value] = nameAndValue(text)
  return { ...earlier, [name]: [...(earlier[name] ?? []), value] }
}

function nameAndValue(text: string): [string, string] {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Must be a name and a value, such as country=France.')
  return [name, value]
}

/** Collects the texts of a repeated option. */
export const collect = (text: string, earlier: string[] = []): string[] => [...earlier, text]

/** Parses a number of decimals, 0 to 6. Throws InvalidArgumentError. */
export function digits(text: string): number {
  if (!/^[0-6]$/.test(text)) throw new InvalidArgumentError('Must be a number from 0 to 6.')
  return Number(text)
}

/** Parses a whole number of at most 9 digits. Throws InvalidArgumentError. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Must be a whole number.')
  return Number(text)
}

/** Returns a parser of ids that `command` shows. It throws InvalidArgumentError. */
export function idShownBy(command: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < 1 || !Number.isSafeInteger(value))
      throw new InvalidArgumentError(`Must be a whole number, as shown by \`${command}\`.`)
    return value
  }
}
