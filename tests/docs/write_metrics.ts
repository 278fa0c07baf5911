/** Writes the tables of metrics in docs/operations/monitoring.md. Usage: `deno task docs:metrics`. */
import { updateMetricTables } from "../support/registry_tables.ts";

const path = new URL("../../docs/operations/monitoring.md", import.meta.url);
Deno.writeTextFileSync(path, updateMetricTables(Deno.readTextFileSync(path)));
