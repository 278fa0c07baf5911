/** A real API server of Kubernetes on Debian's etcd, without controllers: it checks and stores what it is given. */
import { waitUntil } from "../../devnet/waiting.ts";
import { serveLocally } from "../support/test_server.ts";
import { buildApiServer } from "./go_tools.ts";

const TOKEN = "token-of-tests";

/** A resource, as far as its place is concerned. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** What the API server said to a resource. */
export interface Verdict {
  readonly status: number;
  readonly body: string;
  /** Its warnings, which do not prevent anything. */
  readonly warnings: string | null;
}

/** A running API server. */
export interface ApiServer extends AsyncDisposable {
  /** Applies a resource on the server's side, refusing fields that it does not know. `dryRun`: everything but storing. */
  readonly apply: (resource: Resource, options?: { readonly dryRun?: boolean }) => Promise<Verdict>;
}

/** Starts both in a folder. */
export async function startApiServer(folder: string): Promise<ApiServer> {
  const executable = await buildApiServer();
  const [client, peer, port] = await Promise.all([findPort(), findPort(), findPort()]);
  const key = await new Deno.Command("openssl", { args: ["genpkey", "-algorithm", "RSA"] }).output();
  await Deno.writeFile(`${folder}/key.pem`, key.stdout);
  await Deno.writeTextFile(`${folder}/tokens.csv`, `${TOKEN},admin,admin,"system:masters"\n`);
  const clientUrl = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const etcd = start("etcd", [
    `--data-dir=${folder}/etcd`,
    ...[`--listen-client-urls=${clientUrl}`, `--advertise-client-urls=${clientUrl}`],
    ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
    `--initial-cluster=default=${peerUrl}`,
  ]);
  const server = start(executable, [
    ...[`--etcd-servers=${clientUrl}`, "--bind-address=127.0.0.1", `--secure-port=${port}`],
    ...[`--cert-dir=${folder}`, "--service-cluster-ip-range=10.96.0.0/24", "--authorization-mode=RBAC"],
    ...[`--token-auth-file=${folder}/tokens.csv`, "--service-account-issuer=https://kubernetes.default.svc"],
    ...[
      `--service-account-key-file=${folder}/key.pem`,
      `--service-account-signing-key-file=${folder}/key.pem`,
    ],
    // Nobody makes the accounts that pods would need.
    "--disable-admission-plugins=ServiceAccount",
  ]);
  const stop = async (): Promise<void> => {
    for (const child of [server, etcd]) {
      child.kill("SIGTERM");
      await child.status;
    }
  };
  const headers = { authorization: `Bearer ${TOKEN}` };
  let http: Deno.HttpClient | undefined;
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    http ??= Deno.createHttpClient({ caCerts: [await Deno.readTextFile(`${folder}/apiserver.crt`)] });
    return await fetch(`https://127.0.0.1:${port}${path}`, {
      ...init,
      headers: { ...headers, ...init.headers },
      client: http,
    });
  };
  try {
    await waitUntil("the API server is ready", async () => {
      try {
        const answer = await ask("/readyz");
        await answer.body?.cancel();
        return answer.ok;
      } catch (error) {
        if (error instanceof TypeError || error instanceof Deno.errors.NotFound) return false;
        throw error;
      }
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    apply: async (resource, { dryRun = false } = {}) => {
      const query = `fieldManager=tests&force=true&fieldValidation=Strict${dryRun ? "&dryRun=All" : ""}`;
      const answer = await ask(`${pathOf(resource)}?${query}`, {
        method: "PATCH",
        headers: { "content-type": "application/apply-patch+yaml" },
        body: JSON.stringify(resource),
      });
      return { status: answer.status, body: await answer.text(), warnings: answer.headers.get("warning") };
    },
    [Symbol.asyncDispose]: async () => {
      http?.close();
      await stop();
    },
  };
}

function pathOf({ apiVersion, kind, metadata: { name, namespace } }: Resource): string {
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = kind === "NetworkPolicy" ? "networkpolicies" : `${kind.toLowerCase()}s`;
  return `${group}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${plural}/${name}`;
}

function start(program: string, args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(program, { args: [...args], stdin: "null", stdout: "null", stderr: "null" })
    .spawn();
}

/** A port that nobody listens on. */
async function findPort(): Promise<number> {
  const server = serveLocally({}, () => new Response());
  await server.stop();
  return server.port;
}
