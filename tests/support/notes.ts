/** What tests have to say to whoever runs them. */

/** Printed also when the test passes: `tests/run.ts` names a file for that and shows it; else on standard error. */
export function say(text: string): void {
  const file = Deno.env.get("CAUSEWAY_TEST_NOTES");
  if (file !== undefined) Deno.writeTextFileSync(file, `${text}\n`, { append: true });
  else Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}
