import { styleText } from 'node:util'

/** Colours what goes to standard error, where that is a terminal and nobody asked for none (NO_COLOR). */
export function paint(colour: 'red' | 'dim', text: string): string {
  const isColoured = process.stderr.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return isColoured ? styleText(colour, text, { validateStream: false }) : text
}
