/** Whether a statement failed because it violates this constraint. */
export function isViolationOf(constraint: string, error: unknown): boolean {
  const { code, constraint: violated } = error as { code?: string; constraint?: string }
  return (code ?? '').startsWith('23') && violated === constraint
}
