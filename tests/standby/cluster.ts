/**
 * Machines as network namespaces, each with a cable to a switch that they share with etcd, and another one to the chains.
 * Needs root and iproute2. Start reading at {@link Cluster}.
 */
import { waitUntil } from "../../devnet/waiting.ts";
import { runOnce } from "../scenario/support/run_once.ts";
import { EtcdNode } from "./etcd.ts";

const CLIENT_PORT = 2379;
const PEER_PORT = 2380;

/** What a cable of a machine leads to. */
export type Cable = "cluster" | "chains";

/** See the head of the file. */
export class Cluster implements AsyncDisposable {
  /** Nodes of etcd, one on each machine. */
  readonly nodes: readonly EtcdNode[];
  readonly #folder: string;
  readonly #id: string;
  readonly #net: string;

  private constructor(folder: string, id: string, count: number) {
    this.#folder = folder;
    this.#id = id;
    // One of those for private use, by chance, since others may have made theirs.
    this.#net = `10.${64 + parseInt(id, 16) % 128}`;
    const indexes = Array.from({ length: count }, (_, index) => index);
    const members = indexes.map((index) => `node-${index}=http://${this.#hostOf(index)}:${PEER_PORT}`);
    this.nodes = indexes.map((index) =>
      new EtcdNode({
        name: `node-${index}`,
        host: this.#hostOf(index),
        clientPort: CLIENT_PORT,
        peerPort: PEER_PORT,
        members,
        prefix: ["ip", "netns", "exec", this.#nameOf(index)],
      }, `${folder}/etcd-${index}`)
    );
  }

  /** Lays the cables of so many machines. */
  static async create(folder: string, count: number): Promise<Cluster> {
    const id = crypto.getRandomValues(new Uint8Array(2)).reduce(
      (text, byte) => text + byte.toString(16).padStart(2, "0"),
      "",
    );
    const cluster = new Cluster(folder, id, count);
    try {
      await cluster.#lay(count);
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
    return cluster;
  }

  /** Where clients find etcd: all nodes, separated by commas. */
  get endpoints(): string {
    return this.nodes.map(({ endpoint }) => endpoint).join(",");
  }

  /** Address on our side of a machine's cable to the chains. */
  chainsHost(index: number): string {
    return `${this.#net}.${index + 1}.1`;
  }

  /** Writes a program that runs another one on a machine. @returns its path */
  async programOn(index: number, program: string): Promise<string> {
    const path = `${this.#folder}/on-${index}`;
    const text = `#!/bin/sh\nexec ip netns exec ${this.#nameOf(index)} '${program}' "$@"\n`;
    await Deno.writeTextFile(path, text, { mode: 0o755 });
    return path;
  }

  /** Pulls a cable out of the switch. */
  async pull(index: number, cable: Cable): Promise<void> {
    await ip(`link set ${this.#cableOf(index, cable)} down`);
  }

  /** Plugs a cable in again. */
  async plug(index: number, cable: Cable): Promise<void> {
    await ip(`link set ${this.#cableOf(index, cable)} up`);
  }

  /** Starts all nodes of etcd, and waits until they have a leader. */
  async startNodes(): Promise<void> {
    for (const node of this.nodes) node.spawn();
    await this.untilWhole();
  }

  /** Waits until every node answers for the cluster. */
  async untilWhole(): Promise<void> {
    await waitUntil("all nodes of etcd answer", async () => {
      for (const node of this.nodes) if (!await node.isHealthy()) return false;
      return true;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) await node.kill();
    for (const index of this.nodes.keys()) await runOnce("ip", ["netns", "del", this.#nameOf(index)]);
    await runOnce("ip", ["link", "del", this.#switch]);
  }

  async #lay(count: number): Promise<void> {
    await ip(`link add ${this.#switch} type bridge`);
    await ip(`addr add ${this.#net}.0.1/24 dev ${this.#switch}`);
    await ip(`link set ${this.#switch} up`);
    for (let index = 0; index < count; index++) {
      const name = this.#nameOf(index);
      await ip(`netns add ${name}`);
      await ip(`-n ${name} link set lo up`);
      for (const cable of ["cluster", "chains"] as const) {
        const end = this.#cableOf(index, cable);
        await ip(`link add ${end} type veth peer name ${cable} netns ${name}`);
        const address = cable === "cluster" ? this.#hostOf(index) : `${this.#net}.${index + 1}.2`;
        await ip(`-n ${name} addr add ${address}/24 dev ${cable}`);
        await ip(`-n ${name} link set ${cable} up`);
        if (cable === "cluster") await ip(`link set ${end} master ${this.#switch}`);
        else await ip(`addr add ${this.chainsHost(index)}/24 dev ${end}`);
        await ip(`link set ${end} up`);
      }
    }
  }

  get #switch(): string {
    return `cw${this.#id}`;
  }

  #nameOf(index: number): string {
    return `cw${this.#id}-${index}`;
  }

  #cableOf(index: number, cable: Cable): string {
    return `cw${this.#id}${cable === "cluster" ? "e" : "c"}${index}`;
  }

  #hostOf(index: number): string {
    return `${this.#net}.0.${index + 11}`;
  }
}

async function ip(line: string): Promise<void> {
  const { code, stderr } = await runOnce("ip", line.split(" "));
  if (code !== 0) throw new Error(`ip ${line}: ${stderr}`);
}
