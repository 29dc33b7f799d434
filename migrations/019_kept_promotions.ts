/** Nothing is left to do: `025_expired_history` replaces the same function. */
export async function up(): Promise<void> {}
