/** Nothing is left to do: `024_known_accounts` replaces the same function. */
export async function up(): Promise<void> {}
