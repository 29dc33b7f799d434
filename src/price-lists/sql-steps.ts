import { type RawBuilder, sql } from 'kysely'

/** Planning time grows with the square of the nesting: 500 levels took three minutes. Longer chains go through CTEs. */
const nestedMax = 12

/** A PostgreSQL function takes 100 arguments: 50 names and their values. */
const namesMax = 50

/**
 * Columns that build on each other, with one nested select per level, so that a value used twice is written once. Texts
 * refer to inputs, steps and numbers by what the methods return.
 */
export class SqlSteps {
  /** The columns of the rows that the steps use. */
  readonly inputs = new Set<string>()
  readonly #names = new Map<string, string>()
  readonly #numbers: string[] = []
  readonly #steps: { text: string; level: number; lastUse: number }[] = []

  /** Declares a column of the rows as an input and returns its name. */
  input(name: string): string {
    this.inputs.add(name)
    return name
  }

  /** Records the name that a formula gives to a text over the inputs, and returns the text. */
  name(name: string, text: string): string {
    this.#names.set(name, text)
    return text
  }

  /** SQL of a JSON object with the value of each name. */
  named(): RawBuilder<unknown> {
    const values = [...this.#names].map(
      ([name, text]) => sql`${name}::text, ${this.#written(text)}`,
    )
    const objects = Array.from({ length: Math.ceil(values.length / namesMax) }, (_, index) => {
      const some = values.slice(index * namesMax, (index + 1) * namesMax)
      return sql`jsonb_build_object(${sql.join(some)})`
    })
    return objects.length > 0 ? sql.join(objects, sql` || `) : sql`'{}'::jsonb`
  }

  /** Makes a number a parameter and returns its placeholder. */
  number(text: string): string {
    return `$${this.#numbers.push(text) - 1}`
  }

  /** Makes a text a step and returns its name; a name, a number or an array element is returned as it is. */
  keep(text: string): string {
    if (/^\$?\w+(\[\d+\])?$/.test(text)) return text
    const used = stepsIn(text)
    const level = 1 + Math.max(0, ...used.map((step) => this.#steps[step]?.level ?? 0))
    this.#use(used, level)
    return `step${this.#steps.push({ text, level, lastUse: level }) - 1}`
  }

  /** A FROM item with these columns of the rows and the results. OFFSET 0 keeps the planner from merging the levels. */
  select(
    rows: RawBuilder<unknown>,
    columns: readonly string[],
    results: Readonly<Record<string, string>>,
  ): RawBuilder<unknown> {
    for (const text of Object.values(results)) this.#use(stepsIn(text), Number.POSITIVE_INFINITY)
    const given = [...new Set([...columns, ...this.inputs])].map((name) => sql.ref(name))
    const levels = Math.max(0, ...this.#steps.map(({ level }) => level))
    const tables: RawBuilder<unknown>[] = []
    let from = rows
    for (let level = 1; level <= levels; level++) {
      const columns = sql.join([...given, ...this.#columnsOf(level)])
      from = sql`(select ${columns} from ${from} offset 0) as level`
      if (level % nestedMax !== 0) continue
      const table = sql.ref(`level${level}`)
      tables.push(sql`${table} as materialized (select * from ${from})`)
      from = table
    }
    const withTables = tables.length > 0 ? sql`with ${sql.join(tables)}` : sql``
    const fields = Object.entries(results).map(
      ([name, text]) => sql`${this.#written(text)} as ${sql.ref(name)}`,
    )
    const kept = columns.map((name) => sql.ref(name))
    return sql`(${withTables} select ${sql.join([...kept, ...fields])} from ${from}) as priced`
  }

  #use(steps: number[], level: number): void {
    for (const step of steps.map((index) => this.#steps[index]))
      if (step) step.lastUse = Math.max(step.lastUse, level)
  }

  /** The steps of a level, and earlier ones that later levels use. */
  #columnsOf(level: number): RawBuilder<unknown>[] {
    return this.#steps.flatMap((step, index) => {
      const name = sql.ref(`step${index}`)
      if (step.level === level) return sql`${this.#written(step.text)} as ${name}`
      return step.level < level && step.lastUse > level ? name : []
    })
  }

  #written(text: string): RawBuilder<unknown> {
    const parts = text.split(/\$(\d+)/).map((part, index) => {
      return index % 2 === 0 ? sql.raw(part) : sql`${this.#numbers[Number(part)]}::numeric`
    })
    return sql.join(parts, sql.raw(''))
  }
}

/** The indices of the steps that a text refers to. */
function stepsIn(text: string): number[] {
  return [...text.matchAll(/\bstep(\d+)\b/g)].map(([, index]) => Number(index))
}
