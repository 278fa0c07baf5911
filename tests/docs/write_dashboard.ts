/** Writes the Grafana dashboard in packaging/monitoring/ from its typed source. Usage: `deno task docs:dashboard`. */
import { makeDashboard } from "../monitoring/support/dashboard.ts";

const path = new URL("../../packaging/monitoring/dashboard.json", import.meta.url);
Deno.writeTextFileSync(path, `${JSON.stringify(makeDashboard(), null, 2)}\n`);
