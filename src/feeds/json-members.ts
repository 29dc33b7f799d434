const string = /"(?:[^"\\]+|\\.)*"/
const token = new RegExp(`${string.source}|[{}[\\],]`, 'g')
const key = new RegExp(`^\\s*(${string.source})`)

/** The members of a JSON object, each as it is written. */
export function membersOf(object: string): string[] {
  const members: string[] = []
  let depth = 0
  let start = 0
  for (const { 0: text, index } of object.matchAll(token)) {
    if (text === '{' || text === '[') depth++
    else if (text === '}' || text === ']') depth--
    const isBegun = text === '{' && depth === 1
    const isEnded = depth === 0 || (text === ',' && depth === 1)
    if (isEnded) members.push(object.slice(start, index))
    if (isBegun || isEnded) start = index + 1
  }
  return members.filter((member) => member.trim() !== '')
}

/** The key of a member. */
export function keyOf(member: string): string {
  return JSON.parse(key.exec(member)?.[1] ?? '""')
}
