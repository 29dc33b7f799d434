/**
 * Repeats requests for something that changes. `take` gets each response except outdated ones: those that arrive after
 * a newer one, or were sent before `outdate` was called. Ignores failures of outdated requests, too.
 *
 * @template Answer
 * @param {() => Promise<Answer>} load
 * @param {(answer: Answer) => void} take
 */
export function newestOf(load, take) {
  let asked = 0
  let known = 0
  const ask = async () => {
    const turn = ++asked
    const answer = await load().catch((error) => {
      if (turn >= known) throw error
    })
    if (answer === undefined || turn < known) return
    known = turn
    take(answer)
  }
  const outdate = () => {
    known = asked + 1
  }
  return { ask, outdate }
}
