/** Writes what is generated from the schemas of the configuration. Usage: `deno task docs:config`. */
import { CONFIG_DOCUMENTS } from "./support/config_documents.ts";

const root = new URL("../../", import.meta.url);
for (const [path, write] of CONFIG_DOCUMENTS) Deno.writeTextFileSync(new URL(path, root), write());
