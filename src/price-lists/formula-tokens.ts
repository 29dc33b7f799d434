/** A fault in a formula; the message says what and at which character (from 1). */
export class FormulaError extends Error {}

export interface Token {
  kind: 'number' | 'letter' | 'name' | 'operator' | 'end'
  text: string
  /** Counts UTF-16 code units, from 0. */
  at: number
}

/** The tokens of a formula, to be taken one by one; the last is its end. Throws FormulaError for what is no token. */
export class FormulaTokens {
  readonly #formula: string
  readonly #tokens: Token[]
  #next = 0

  constructor(formula: string) {
    this.#formula = formula
    this.#tokens = tokenize(formula)
  }

  peek(): Token {
    return this.#tokens[this.#next] as Token
  }

  take(): Token {
    return this.#tokens[this.#next++] as Token
  }

  /** What is wrong at a token. */
  fault({ kind, text, at }: Token, message: string): FormulaError {
    if (kind === 'end') return new FormulaError(`${message} at the end`)
    return new FormulaError(`${message} ${characterAt(this.#formula, at)}, found "${text}"`)
  }
}

/** A number, a letter, a name, an operator, or anything that is no token; white space before it. */
const tokenPattern =
  /\s*(?:(\d+(?:\.\d*)?|\.\d+)|([A-Za-z_]\w*)|"((?:[^"]|"")*)"|([-+*/()])|(\S))/gu

function tokenize(formula: string): Token[] {
  if (!formula.startsWith('=')) throw new FormulaError('must start with "=" (character 1)')
  const tokens: Token[] = []
  for (const match of formula.slice(1).trimEnd().matchAll(tokenPattern)) {
    const [matched, number, letter, name, operator, other] = match
    const at = 1 + match.index + matched.length - matched.trimStart().length
    if (number !== undefined) tokens.push({ kind: 'number', text: number, at })
    else if (letter !== undefined) tokens.push({ kind: 'letter', text: letter, at })
    else if (name !== undefined) tokens.push({ kind: 'name', text: name.replaceAll('""', '"'), at })
    else if (operator !== undefined) tokens.push({ kind: 'operator', text: operator, at })
    else throw new FormulaError(`unexpected "${other}" ${characterAt(formula, at)}`)
  }
  return [...tokens, { kind: 'end', text: '', at: formula.length }]
}

/** Characters are code points, counted from 1. */
function characterAt(formula: string, at: number): string {
  return `at character ${[...formula.slice(0, at)].length + 1}`
}
