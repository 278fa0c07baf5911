import assert from "node:assert/strict";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import type { MessagingConfig } from "../../src/messaging/config/schema.ts";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { sr25519PublicKey, toEvmAddress } from "../../src/core/ismp/signed_messages.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { connectChains } from "../../src/messaging/connect.ts";
import type { Connections } from "../../src/messaging/session.ts";
import { edited, GOOD_TOML } from "./config/wrong_configs.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import { serveLocally, type TestServer } from "../support/test_server.ts";

const never = new AbortController().signal;
const KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

function connect(toml: string): Connections {
  const { config, problems } = parseMessagingConfig({ readFile: () => new Uint8Array() }, toml);
  assert.deepEqual(problems, []);
  return connectChains(
    { clock: systemClock, random: seededRandomness(1), log: new RecordedLog() },
    config as MessagingConfig,
  );
}

async function close({ hub, chains }: Connections): Promise<void> {
  await Promise.all([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
}

/** A node that gives no answer before it is told to, and counts the requests that wait for one. */
class WaitingNode implements AsyncDisposable {
  readonly #server: TestServer;
  #socket: WebSocket | undefined;
  readonly #waiting: unknown[] = [];
  #isReleased = false;
  most = 0;

  constructor() {
    this.#server = serveLocally({}, (request) => {
      if (request.headers.get("upgrade") !== "websocket") return new Response("here");
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }) => {
        this.#waiting.push(JSON.parse(String(data)).id);
        this.most = Math.max(this.most, this.#waiting.length);
        if (this.#isReleased) this.release();
      };
      this.#socket = socket;
      return response;
    });
  }

  get host(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  /** Resolves when so many requests wait at once, and what was sent with them has arrived. */
  async waiting(count: number): Promise<void> {
    const trip = async (): Promise<string> => await (await fetch(`http://${this.host}`)).text();
    while (this.#waiting.length < count) await trip();
    for (let trips = 0; trips < 3; trips++) await trip();
  }

  /** Answers what waits, and everything from now on. */
  release(): void {
    this.#isReleased = true;
    const hash = `0x${"11".repeat(32)}`;
    const roots = { parentHash: hash, stateRoot: hash, extrinsicsRoot: hash };
    const result = { ...roots, number: "0x7", digest: { logs: [] } };
    for (const id of this.#waiting.splice(0)) {
      this.#socket?.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket?.close();
    await this.#server.stop();
  }
}

for (const section of ["hub", "para"] as const) {
  Deno.test(`connect: [${section}].max_concurent_queries bounds the requests that wait for an answer at a time`, async () => {
    await using node = new WaitingNode();
    const connections = connect(edited(
      ["wss://hub.example.org/ws?key=hubrpckey1", `ws://${node.host}`],
      ["ws://127.0.0.1:9944", `ws://${node.host}`],
      [`[${section}]\n`, `[${section}]\nmax_concurent_queries = 3\n`],
    ));
    try {
      const para = connections.chains.find(({ config }) => config.type === "substrate")?.chain;
      const chain = section === "hub" ? connections.hub : para;
      assert.ok(chain !== undefined);
      const heights = Promise.all(Array.from({ length: 12 }, () => chain.reads.fetchHeight(never)));
      heights.catch(() => undefined); // told below
      await node.waiting(3);
      assert.equal(node.most, 3);
      node.release();
      assert.deepEqual(await heights, new Array(12).fill(7n));
      assert.equal(node.most, 3);
    } finally {
      await close(connections);
    }
  });
}

Deno.test("connect: without a hub signer deliveries are filed under our EVM address, or else our Substrate key", async () => {
  const withEvm = connect(GOOD_TOML);
  const evm = toHex(toEvmAddress(fromHex(KEY)));
  assert.equal(toHex(withEvm.hub.relayer ?? new Uint8Array()), evm);
  const start = GOOD_TOML.indexOf("[evm1]");
  const end = GOOD_TOML.indexOf("[para]");
  const alone = (GOOD_TOML.slice(0, start) + GOOD_TOML.slice(end)).replace('"EVM-31337", ', "");
  const withKey = connect(alone.replace("[para]\n", `[para]\nsigner = "${KEY}"\n`));
  const key = toHex(sr25519PublicKey(fromHex(KEY)));
  assert.equal(toHex(withKey.hub.relayer ?? new Uint8Array()), key);
  assert.equal(toHex(withKey.chains[0]?.chain.relayer ?? new Uint8Array()), key);
  const address = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
  const remote = connect(
    edited([
      `signer = "0x${KEY}"`,
      `signer = "web3signer:http://127.0.0.1:9"\nsigner_address = "${address}"`,
    ]),
  );
  assert.equal(toHex(remote.hub.relayer ?? new Uint8Array()), address);
  assert.equal(toHex(remote.chains[0]?.chain.relayer ?? new Uint8Array()), address);
  await Promise.all([withEvm, withKey, remote].map(close));
});
