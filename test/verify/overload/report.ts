/** Prints figures and checks bounds. */
export class Report {
  #failures = 0

  figure(name: string, value: number, unit: string): void {
    console.log(`${name}: ${Number(value.toPrecision(3))} ${unit}`.trimEnd())
  }

  holds(name: string, isSo: boolean): void {
    if (!isSo) this.#failures++
    console.log(`${isSo ? 'holds ' : 'BROKEN'} ${name}`)
  }

  get failures(): number {
    return this.#failures
  }
}
