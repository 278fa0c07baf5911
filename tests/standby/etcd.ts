/** One node of Debian's etcd, and ways to it that can be cut. */
import { KeptPort } from "../../devnet/kept_port.ts";
import { waitUntil } from "../../devnet/waiting.ts";
import { runOnce } from "../scenario/support/run_once.ts";

const HOST = "127.0.0.1";

/** A node that is stopped and started again on the same ports and data. */
export class Etcd implements AsyncDisposable {
  readonly #clients = new KeptPort();
  readonly #peers = new KeptPort();
  readonly #folder: string;
  #child: Deno.ChildProcess | undefined;

  /** @param folder for its data; it is removed in the end */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Port for clients. */
  get port(): number {
    return this.#clients.number;
  }

  /** Starts it, and waits until it answers. */
  async start(): Promise<void> {
    const [clients, peers] = [this.#clients, this.#peers].map(({ number }) => `http://${HOST}:${number}`);
    this.#child = new Deno.Command("etcd", {
      args: [
        `--data-dir=${this.#folder}`,
        `--listen-client-urls=${clients}`,
        `--advertise-client-urls=${clients}`,
        `--listen-peer-urls=${peers}`,
        `--initial-advertise-peer-urls=${peers}`,
        `--initial-cluster=default=${peers}`,
      ],
      stdout: "null",
      stderr: "null",
    }).spawn();
    await waitUntil("etcd answers", async () => {
      const env = { ETCDCTL_API: "3", ETCDCTL_ENDPOINTS: `${clients}` };
      return (await runOnce("etcdctl", ["endpoint", "health"], { env })).code === 0;
    });
  }

  /** Kills it. */
  async kill(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#child?.status;
    this.#child = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#clients[Symbol.dispose]();
    this.#peers[Symbol.dispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** A way of one machine to etcd. */
export class Link implements Disposable {
  /** True: what is sent either way is lost, as behind a cable that was pulled. */
  isCut = false;
  readonly #listener = Deno.listen({ hostname: HOST, port: 0 });
  readonly #open = new Set<Deno.Conn>();

  /** @param port where etcd listens */
  constructor(port: number) {
    this.#accept(port).catch(() => {}); // closed
  }

  /** Where the machine finds etcd. */
  get endpoint(): string {
    return `http://${HOST}:${(this.#listener.addr as Deno.NetAddr).port}`;
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    for (const connection of this.#open) close(connection);
  }

  async #accept(port: number): Promise<void> {
    for await (const client of this.#listener) {
      this.#open.add(client);
      const server = await Deno.connect({ hostname: HOST, port }).catch(() => undefined);
      if (server === undefined) {
        close(client);
        continue;
      }
      this.#open.add(server);
      this.#pass(client, server);
      this.#pass(server, client);
    }
  }

  /** Passes on what arrives until either side ends. */
  async #pass(from: Deno.Conn, to: Deno.Conn): Promise<void> {
    try {
      for await (const bytes of from.readable) {
        if (!this.isCut) await writeAll(to, bytes);
      }
    } catch {
      // One of them is gone.
    }
    if (!this.isCut) [from, to].forEach(close);
  }
}

async function writeAll(to: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await to.write(bytes.subarray(written));
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It is closed already.
  }
}
