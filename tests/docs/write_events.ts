/** Writes the tables of log events in docs/operations/logs.md. Usage: `deno task docs:events`. */
import { updateEventTables } from "../support/registry_tables.ts";

const path = new URL("../../docs/operations/logs.md", import.meta.url);
Deno.writeTextFileSync(path, updateEventTables(Deno.readTextFileSync(path)));
