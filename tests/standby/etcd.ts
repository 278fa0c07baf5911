/** Nodes of Debian's etcd, and ways of a machine that can be cut. */
import { KeptPort } from "../../devnet/kept_port.ts";
import { waitUntil } from "../../devnet/waiting.ts";
import { isCommand } from "../release/support/debian.ts";
import { runOnce, type RunResult } from "../scenario/support/run_once.ts";

const HOST = "127.0.0.1";

/**
 * Makes sure that these are there: names of commands or paths of files, each with how to get it.
 * @throws {Error} that names everything that is missing
 */
export async function requireTools(tools: Readonly<Record<string, string>>): Promise<void> {
  const missing: string[] = [];
  for (const [tool, remedy] of Object.entries(tools)) {
    const isThere = tool.startsWith("/")
      ? await Deno.stat(tool).then(() => true, () => false)
      : await isCommand(tool);
    if (!isThere) missing.push(`${tool} (${remedy})`);
  }
  if (missing.length > 0) throw new Error(`Missing: ${missing.join(", ")}`);
}

/** Where a node is. */
export interface EtcdSeat {
  readonly name: string;
  readonly host: string;
  readonly clientPort: number;
  readonly peerPort: number;
  /** `name=URL` of every node, itself included. */
  readonly members: readonly string[];
  /** What its command is put behind. */
  readonly prefix: readonly string[];
}

/** A node that is stopped and started again on the same ports and data. */
export class EtcdNode {
  readonly #seat: EtcdSeat;
  readonly #folder: string;
  #child: Deno.ChildProcess | undefined;

  /** @param folder for its data */
  constructor(seat: EtcdSeat, folder: string) {
    this.#seat = seat;
    this.#folder = folder;
  }

  /** Where clients find it. */
  get endpoint(): string {
    return `http://${this.#seat.host}:${this.#seat.clientPort}`;
  }

  /** Starts it; returns at once. */
  spawn(): void {
    const { name, host, peerPort, members, prefix } = this.#seat;
    const peers = `http://${host}:${peerPort}`;
    const [program = "etcd", ...args] = [
      ...prefix,
      "etcd",
      `--name=${name}`,
      `--data-dir=${this.#folder}`,
      `--listen-client-urls=${this.endpoint}`,
      `--advertise-client-urls=${this.endpoint}`,
      `--listen-peer-urls=${peers}`,
      `--initial-advertise-peer-urls=${peers}`,
      `--initial-cluster=${members.join(",")}`,
    ];
    this.#child = new Deno.Command(program, { args, stdout: "null", stderr: "null" }).spawn();
  }

  /** True when it answers and has a leader. */
  async isHealthy(): Promise<boolean> {
    return (await this.#ask("endpoint", "health")).code === 0;
  }

  /** Kills it. */
  async kill(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#child?.status;
    this.#child = undefined;
  }

  #ask(...args: readonly string[]): Promise<RunResult> {
    return runOnce("etcdctl", args, { env: { ETCDCTL_API: "3", ETCDCTL_ENDPOINTS: this.endpoint } });
  }
}

/** A node without others, on this machine. */
export class Etcd implements AsyncDisposable {
  readonly #clients = KeptPort.forChild();
  readonly #peers = KeptPort.forChild();
  readonly #folder: string;
  readonly #node: EtcdNode;

  /** @param folder for its data; it is removed in the end */
  constructor(folder: string) {
    this.#folder = folder;
    this.#node = new EtcdNode({
      name: "default",
      host: HOST,
      clientPort: this.#clients.number,
      peerPort: this.#peers.number,
      members: [`default=http://${HOST}:${this.#peers.number}`],
      prefix: [],
    }, folder);
  }

  /** Port for clients. */
  get port(): number {
    return this.#clients.number;
  }

  /** Starts it, and waits until it answers. */
  async start(): Promise<void> {
    this.#node.spawn();
    await waitUntil("etcd answers", () => this.#node.isHealthy());
  }

  /** Kills it. */
  async kill(): Promise<void> {
    await this.#node.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#clients[Symbol.dispose]();
    this.#peers[Symbol.dispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** A way of one machine to something that listens here. */
export class Link implements Disposable {
  /** True: what is sent either way is lost, as behind a cable that was pulled. */
  isCut = false;
  /** When the machine sent something last, Unix ms; 0: never. */
  lastSentMs = 0;
  readonly #listener: Deno.TcpListener;
  readonly #open = new Set<Deno.Conn>();

  /**
   * @param port where it leads
   * @param hostname our address that the machine reaches
   */
  constructor(port: number, hostname = HOST) {
    this.#listener = Deno.listen({ hostname, port: 0 });
    this.#accept(port).catch(() => {}); // closed
  }

  /** Where the machine finds it. */
  get endpoint(): string {
    const { hostname, port } = this.#listener.addr;
    return `http://${hostname}:${port}`;
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
      this.#pass(client, server, () => this.lastSentMs = Date.now());
      this.#pass(server, client, () => {});
    }
  }

  /** Passes on what arrives until either side ends. */
  async #pass(from: Deno.Conn, to: Deno.Conn, onBytes: () => void): Promise<void> {
    try {
      for await (const bytes of from.readable) {
        onBytes();
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
