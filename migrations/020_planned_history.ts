/** `022_kept_mistakes` replaces the function that this migration replaced. */
export async function up(): Promise<void> {}
