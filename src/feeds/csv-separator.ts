const names: Record<string, string> = { ';': 'semicolons', '\t': 'tabs', '|': 'pipes' }

/** What a header is to do about its separator, in words that follow what is wrong with it; '' where that are commas. */
export function separatorHint(header: string, isKnown: (name: string) => boolean): string {
  const separator = Object.keys(names).find((one) => isSeparator(one, header, isKnown))
  return separator ? hintOf(separator) : ''
}

function hintOf(separator: string): string {
  const name = names[separator] ?? `"${separator}"`
  return separator === ','
    ? '; columns are separated by commas'
    : `; columns are separated by commas, not by ${name}`
}

/** It makes more known columns of the header than commas do, or, where nobody knows one, more columns. */
function isSeparator(one: string, header: string, isKnown: (name: string) => boolean): boolean {
  const known = (separator: string) => header.split(separator).map(unquoted).filter(isKnown).length
  const columns = (separator: string) => header.replaceAll(/"[^"]*"/g, '').split(separator).length
  if (!header.includes(one)) return false
  return known(one) > known(',') || (known(',') === 0 && columns(one) > columns(','))
}

const unquoted = (name: string) => name.trim().replace(/^"(.*)"$/s, '$1')

/** What is wrong with a first line that only names the separator, as Excel reads one; undefined: it is another line. */
export function separatorLineFault(fields: readonly string[]): string | undefined {
  const [first = '', ...others] = fields
  const [, separator] = /^sep=(.?)$/is.exec(first) ?? []
  if (separator === undefined || others.some((field) => field !== '')) return undefined
  return `is no header: take this line out${hintOf(separator || ',')}`
}
