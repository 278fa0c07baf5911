/** Debian's Prometheus with the rules that are delivered, scraping every second. */
import { waitUntil } from "../../../devnet/traffic/messages.ts";
import { serveLocally } from "../../support/test_server.ts";

/** An alert that is pending or firing. */
export interface ActiveAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing";
}

/** A running Prometheus. */
export interface PrometheusServer extends AsyncDisposable {
  /** Result of an instant query, one entry per series. */
  readonly query: (expression: string) => Promise<readonly unknown[]>;
  readonly alerts: () => Promise<readonly ActiveAlert[]>;
}

/** Starts it. @param jobs address by name of the job */
export async function startPrometheus(
  folder: string,
  jobs: Readonly<Record<string, string>>,
): Promise<PrometheusServer> {
  const rules = new URL("../../../packaging/monitoring/alerts.yml", import.meta.url).pathname;
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [rules],
    scrape_configs: Object.entries(jobs).map(([name, target]) => ({
      job_name: name,
      static_configs: [{ targets: [target] }],
    })),
  };
  // JSON is YAML.
  await Deno.writeTextFile(`${folder}/prometheus.yml`, JSON.stringify(config));
  const address = await findFreeAddress();
  const child = new Deno.Command("prometheus", {
    args: [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${address}`,
      "--log.level=error",
    ],
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const read = async (path: string): Promise<Readonly<Record<string, unknown>>> => {
    const answer: { readonly data: Readonly<Record<string, unknown>> } =
      await (await fetch(`http://${address}/api/v1/${path}`)).json();
    return answer.data;
  };
  const listOf = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : [];
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await child.status;
  };
  await waitUntil("Prometheus answers", async () => {
    try {
      const answer = await fetch(`http://${address}/-/ready`);
      await answer.body?.cancel();
      return answer.ok;
    } catch (error) {
      if (error instanceof TypeError) return false;
      throw error;
    }
  }, { everyMs: 200 });
  return {
    query: async (expression) => listOf((await read(`query?query=${encodeURIComponent(expression)}`)).result),
    alerts: async () => listOf((await read("alerts")).alerts).filter(isAlert),
    [Symbol.asyncDispose]: stop,
  };
}

function isAlert(value: unknown): value is ActiveAlert {
  return typeof value === "object" && value !== null && "labels" in value && "state" in value;
}

/** An address that nobody listens on. */
async function findFreeAddress(): Promise<string> {
  const server = serveLocally({}, () => new Response());
  await server.stop();
  return `127.0.0.1:${server.port}`;
}
