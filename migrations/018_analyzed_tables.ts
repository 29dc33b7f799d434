/** Nothing is left to do: `023_estimated_rows` replaces the same function. */
export async function up(): Promise<void> {}
