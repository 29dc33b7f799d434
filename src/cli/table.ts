import { printable } from './terminal.ts'

type Cell = string | number | boolean | null | undefined
export type TableRow = Record<string, Cell>

/** Rows as columns of text under the names of their keys; numbers to the right. Columns that are empty are left out. */
export function table(rows: TableRow[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) =>
    rows.some((row) => text(row[name]) !== ''),
  )
  const columns = names.map((name) => {
    const isNumeric = rows.every((row) => row[name] == null || typeof row[name] === 'number')
    const width = Math.max(name.length, ...rows.map((row) => text(row[name]).length))
    const fit = (cell: string) => (isNumeric ? cell.padStart(width) : cell.padEnd(width))
    return [fit(name), ...rows.map((row) => fit(text(row[name])))]
  })
  const lines = [0, ...rows.map((_, index) => index + 1)].map((line) =>
    columns
      .map((cells) => cells[line])
      .join('  ')
      .trimEnd(),
  )
  return lines.join('\n')
}

function text(cell: Cell): string {
  return cell == null ? '' : printable(String(cell)).replaceAll('\n', '·')
}
