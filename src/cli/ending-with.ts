/** Does `work` where the command ends before it is forgotten, by a signal too. Answers how to forget it. */
export function endingWith(work: () => void): () => void {
  const end = (_signal: NodeJS.Signals, number: number) => process.exit(128 + number)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  process.once('exit', work)
  for (const signal of signals) process.once(signal, end)
  return () => {
    process.off('exit', work)
    for (const signal of signals) process.off(signal, end)
  }
}
