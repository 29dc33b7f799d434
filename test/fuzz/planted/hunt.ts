import type { Target } from '../sessions.ts'
export async function huntPlanted(_t: Target, _o: object): Promise<boolean> { return true }
