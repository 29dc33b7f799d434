import fc from 'fast-check'

/** Draws a value; the same seed draws the same values. */
export type Draw = <T>(arbitrary: fc.Arbitrary<T>) => T

/** One value in this many is an edge case of its arbitrary. */
const biasFactor = 8

class Draws extends fc.Arbitrary<Draw> {
  override generate(random: fc.Random): fc.Value<Draw> {
    const own = random.clone()
    const draw: Draw = (arbitrary) => arbitrary.generate(own, biasFactor).value
    return new fc.Value(draw, undefined)
  }
  override canShrinkWithoutContext(value: unknown): value is Draw {
    return value === undefined
  }
  override shrink(): fc.Stream<fc.Value<Draw>> {
    return fc.Stream.nil()
  }
}

/** Draws while the session runs, depending on its state; a property would fix all values at its start. */
export function drawing(seed: number): Draw {
  const [draw] = fc.sample(new Draws(), { seed, numRuns: 1 })
  if (!draw) throw new Error('nothing was drawn')
  return draw
}

/** One of the items. */
export function oneOf<T>(draw: Draw, items: readonly T[]): T {
  return draw(fc.constantFrom(...items))
}

const percentage = fc.noBias(fc.integer({ min: 0, max: 99 }))

/** True in `percent` of 100 draws. */
export function chance(draw: Draw, percent: number): boolean {
  return draw(percentage) < percent
}

/** From `min` to `max` distinct items, in random order. */
export function someOf<T>(draw: Draw, items: readonly T[], min = 0, max = items.length): T[] {
  const bounds = { minLength: Math.min(min, items.length), maxLength: Math.min(max, items.length) }
  return draw(fc.shuffledSubarray([...items], bounds))
}
