/** Writes the alert rules for the Prometheus Operator from those for Prometheus. Usage: `deno task docs:rules`. */
import { makePrometheusRule, RULE_FILE } from "./support/prometheus_rule.ts";
import { readFile } from "./support/tree.ts";

const path = new URL(`../../${RULE_FILE}`, import.meta.url);
Deno.writeTextFileSync(path, makePrometheusRule(await readFile("packaging/monitoring/alerts.yml")));
