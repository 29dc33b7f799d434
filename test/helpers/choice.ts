/** The number that an option is given; ends the command unless it is a whole one from `least` on. */
export function wholeNumber(option: string, text: string, least: number): number {
  if (/^\d{1,15}$/.test(text) && Number(text) >= least) return Number(text)
  return refuse(`--${option} takes a whole number from ${least} on, not "${text}"`)
}

/** The names that were chosen; ends the command, and says what can be chosen, unless all are among the known ones. */
export function knownNames(what: string, chosen: string[], known: string[]): string[] {
  const unknown = chosen.filter((name) => !known.includes(name))
  if (unknown.length === 0) return chosen
  return refuse(`No such ${what}: ${unknown.join(', ')}. There are: ${listed(known)}`)
}

/** The items whose names hold a text; ends the command, and says what can be chosen, if there are none. */
export function namedLike<T extends { name: string }>(what: string, items: T[], text: string): T[] {
  const found = items.filter(({ name }) => name.includes(text))
  if (found.length > 0) return found
  return refuse(`No ${what} has "${text}" in its name. There are: ${listed(items.map(nameOf))}`)
}

const nameOf = ({ name }: { name: string }) => name

const listed = (names: string[]) => [...new Set(names)].join(', ')

/** Doing nothing must not look like success. */
function refuse(message: string): never {
  console.error(message)
  process.exit(1)
}
