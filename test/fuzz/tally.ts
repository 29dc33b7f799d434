import { operations } from '../../src/http/contract.ts'

/** Answers by operation and status. */
export class Tally {
  readonly #counts = new Map<string, Map<number, number>>()
  total = 0

  add(operation: string, status: number): void {
    const statuses = this.#counts.get(operation) ?? new Map<number, number>()
    this.#counts.set(operation, statuses.set(status, (statuses.get(status) ?? 0) + 1))
    this.total++
  }

  /** Operations that were answered 2xx less often than in 30 % of their inputs, or were never called. */
  poor(only?: string): string[] {
    return operations
      .map(({ id }) => id)
      .filter((id) => (only === undefined || id === only) && this.#share(id) < 0.3)
  }

  /** One line an operation: inputs, share of 2xx, statuses. */
  table(): string {
    const lines = [...this.#counts].sort().map(([id, statuses]) => {
      const sum = [...statuses.values()].reduce((total, count) => total + count, 0)
      const byStatus = [...statuses].sort().map(([status, count]) => `${status}: ${count}`)
      const share = `${Math.round(this.#share(id) * 100)} %`
      return `${id.padEnd(26)}${String(sum).padStart(8)}${share.padStart(7)} 2xx   ${byStatus.join('  ')}`
    })
    return lines.join('\n')
  }

  #share(id: string): number {
    const statuses = [...(this.#counts.get(id) ?? [])]
    const sum = (some: [number, number][]) => some.reduce((total, [, count]) => total + count, 0)
    return sum(statuses.filter(([status]) => status < 300)) / Math.max(1, sum(statuses))
  }
}
