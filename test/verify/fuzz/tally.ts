import { operations } from '../../../src/contract/document.ts'

/** Below the first number the share of 2xx is chance; from the second on, not a single 2xx is a fault. */
const inputsMin = { forShare: 60, forOne: 20 }
/** Inputs after which every operation must have been called. */
const longRun = 10_000

/** Answers by operation and status. */
export class Tally {
  readonly #counts = new Map<string, Map<number, number>>()
  readonly #refusals = new Map<string, number>()
  total = 0

  add(operation: string, status: number): void {
    const statuses = this.#counts.get(operation) ?? new Map<number, number>()
    this.#counts.set(operation, statuses.set(status, (statuses.get(status) ?? 0) + 1))
    this.total++
  }

  /** Counts an answer after which the input is sent again. */
  addRefusal({ type, detail }: { type: string; detail: string }): void {
    const told = `${type}: ${detail}`
    this.#refusals.set(told, (this.#refusals.get(told) ?? 0) + 1)
  }

  /** Operations with under 30 % of 2xx; in a long run also those never called. */
  poor(only?: string): string[] {
    return operations
      .map(({ id }) => id)
      .filter((id) => (only === undefined || id === only) && this.#isPoor(id))
  }

  #isPoor(id: string): boolean {
    const inputs = this.#inputs(id)
    if (inputs >= inputsMin.forShare) return this.#share(id) < 0.3
    return (inputs >= inputsMin.forOne || this.total >= longRun) && this.#share(id) === 0
  }

  /** A line per operation: inputs, share of 2xx, statuses. */
  table(): string {
    const lines = [...this.#counts].sort().map(([id, statuses]) => {
      const byStatus = [...statuses].sort().map(([status, count]) => `${status}: ${count}`)
      const share = `${Math.round(this.#share(id) * 100)} %`
      const inputs = String(this.#inputs(id)).padStart(8)
      return `${id.padEnd(26)}${inputs}${share.padStart(7)} 2xx   ${byStatus.join('  ')}`
    })
    return lines.join('\n')
  }

  /** A line per reason to send an input again. */
  refusals(): string {
    const lines = [...this.#refusals].sort().map(([told, count]) => `${count} x ${told}`)
    return lines.length === 0 ? 'none' : lines.join('\n')
  }

  #share(id: string): number {
    return this.#inputs(id, 299) / Math.max(1, this.#inputs(id))
  }

  #inputs(id: string, statusMax = 599): number {
    const counts = [...(this.#counts.get(id) ?? [])].filter(([status]) => status <= statusMax)
    return counts.reduce((sum, [, count]) => sum + count, 0)
  }
}
