/** The alert rules as the Prometheus Operator takes them: the rules for Prometheus in a resource of Kubernetes. */

/** Where they are. */
export const RULE_FILE = "packaging/kubernetes/monitoring/rules.yaml";

const HEAD = `# Written by deno task docs:rules from packaging/monitoring/alerts.yml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: causeway
  labels:
    app.kubernetes.io/part-of: causeway
spec:
`;

/** Text of the resource. @param rules text of a rule file of Prometheus, of which only the comment at the top is left out */
export function makePrometheusRule(rules: string): string {
  const lines = rules.split("\n");
  const first = lines.findIndex((line) => !line.startsWith("#"));
  return HEAD + lines.slice(first).map((line) => line === "" ? "" : `  ${line}`).join("\n");
}
