/**
 * Asks again and again for something that changes. `take` gets each answer but the old ones: those that arrive after a
 * newer one, or were on their way when `outdate` was called. An old question that fails says nothing either.
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
