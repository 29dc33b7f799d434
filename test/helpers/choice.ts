/** The value of a numeric option; ends the command unless it is a whole number of at least `least`. */
export function wholeNumber(option: string, text: string, least: number): number {
  if (/^\d{1,15}$/.test(text) && Number(text) >= least) return Number(text)
  return refuse(`--${option} takes a whole number from ${least} on, not "${text}"`)
}

/** The chosen names; ends the command and lists the known names unless all are known. */
export function knownNames(what: string, chosen: string[], known: string[]): string[] {
  const unknown = chosen.filter((name) => !known.includes(name))
  if (unknown.length === 0) return chosen
  return refuse(`No such ${what}: ${unknown.join(', ')}. There are: ${listed(known)}`)
}

/** The items whose names contain a text; ends the command and lists the names if there are none. */
export function namedLike<T extends { name: string }>(what: string, items: T[], text: string): T[] {
  const found = items.filter(({ name }) => name.includes(text))
  if (found.length > 0) return found
  return refuse(`No ${what} has "${text}" in its name. There are: ${listed(items.map(nameOf))}`)
}

const nameOf = ({ name }: { name: string }) => name

const listed = (names: string[]) => [...new Set(names)].join(', ')

/** A run without work must not look like success. */
function refuse(message: string): never {
  console.error(message)
  process.exit(1)
}
