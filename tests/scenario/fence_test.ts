/** A relayer with a fence works while the fence lets it, and ends at once when it does not. */
import assert from "node:assert/strict";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { type LedgerSubmission, readLedger } from "./support/ledger_reader.ts";
import { type ProxiedRequest, type RpcProxy, startRpcProxy } from "./support/rpc_proxy.ts";
import { playScene, type Scene, type SceneRelayer } from "./support/scene.ts";

const BROADCAST = "eth_sendRawTransaction";
/** What the hub is asked for before an extrinsic to it is made. */
const TRIAL = "state_call";
/** Time for which answers of the hub are under way: some always are when the process is stopped. */
const LATENCY_MS = 250;
/** Rest of the fence's time when the process is stopped, ms. */
const REST_MS = 1_500;

Deno.test("fence: a process that is paused for longer than the fence lasts sends nothing when it continues, and what is in its journal is settled by the next one", () =>
  playScene({}, async (scene) => {
    const { devnet } = scene;
    const [a, b] = [devnet.chain("A"), devnet.chain("B")];
    await using proxies = new AsyncDisposableStack();
    const front = async (upstream: string, latencyMs = 0): Promise<RpcProxy> =>
      proxies.use(await startRpcProxy({ upstream, latencyMs }));
    const paused = new PausedRelayer(scene, {
      hub: await front(devnet.hub.httpUrl, LATENCY_MS),
      a: await front(a.rpcUrl),
      b: await front(b.rpcUrl),
    });
    const sent: SentMessage[] = [];
    await paused.start();
    // What is to be sent waits in the process: it is in the journal already.
    await paused.b.setMode({ kind: "throttle", retryAfterSec: 1 }, [BROADCAST]);
    paused.b.clear();
    sent.push(...await sendPing(devnet, { from: "A", to: "B", count: 3 }));
    await waitUntil("a transaction is to be sent", () => paused.b.countCalls(BROADCAST) > 0);
    await paused.pauseTooLong(() => paused.b.setMode({ kind: "pass" }));
    const { submissions } = await readLedger(paused.relayer.process.dbPath);
    const unsent: readonly LedgerSubmission[] = submissions.filter(({ chain, state }) =>
      chain === b.stateMachine && state === "signed"
    );
    assert.ok(unsent.length > 0, "the journal has what was not sent");
    for (let round = 0; round < 2; round++) {
      await paused.start();
      paused.hub.clear();
      sent.push(...await sendPing(devnet, { from: "B", to: "A", count: 3 }));
      await waitUntil("an extrinsic is about to be made", () => paused.hub.countCalls(TRIAL) > 0, {
        everyMs: 5,
      });
      await paused.pauseTooLong();
    }
    await Deno.writeTextFile(paused.fence, "");
    await paused.relayer.startAndWait({}, paused.options);
    await scene.untilDelivered(sent);
    await paused.relayer.untilEnded(sent);
    await scene.finish({ allowedErrors: ["fence_gone"] });
  }));

/** A relayer whose process is stopped and continues when its time is over. */
class PausedRelayer {
  readonly relayer: SceneRelayer;
  readonly fence: string;
  readonly options: { readonly extraArguments: readonly string[] };
  readonly hub: RpcProxy;
  readonly a: RpcProxy;
  readonly b: RpcProxy;

  constructor(readonly scene: Scene, { hub, a, b }: { readonly [Name in "hub" | "a" | "b"]: RpcProxy }) {
    this.relayer = scene.relayer();
    this.fence = `${scene.folder}/fence`;
    this.options = { extraArguments: [`--fence=${this.fence}`] };
    [this.hub, this.a, this.b] = [hub, a, b];
  }

  /** Starts a process with a fence for a day. */
  async start(): Promise<void> {
    const [a, b] = this.scene.devnet.chains;
    await this.#allow(86_400_000);
    await this.relayer.startAndWait({
      hubUrl: this.hub.wsUrl,
      rpcUrls: {
        ...a && { [a.stateMachine]: [this.a.httpUrl] },
        ...b && { [b.stateMachine]: [this.b.httpUrl] },
      },
    }, this.options);
  }

  /**
   * Stops the process until the fence's time is over, and has it continue: nothing leaves it any more.
   * @param meanwhile done while it stands still
   */
  async pauseTooLong(meanwhile: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const { process } = this.relayer;
    await this.#allow(REST_MS);
    process.signal("SIGSTOP");
    const untilMs = Date.now() + REST_MS;
    await meanwhile();
    await waitUntil("the time in the fence is over", () => Date.now() > untilMs + LATENCY_MS, {
      everyMs: 50,
    });
    const before = new Set(this.#requests());
    process.signal("SIGCONT");
    assert.equal(await process.exitCode(), 4);
    assert.deepEqual(process.lines.map(({ record }) => record?.event).at(-1), "fence_gone");
    const late = this.#requests().filter((request) => !before.has(request));
    assert.deepEqual(late.flatMap(({ calls }) => calls.map(({ method }) => method)), [], "nothing is sent");
  }

  get #proxies(): readonly RpcProxy[] {
    return [this.hub, this.a, this.b];
  }

  #requests(): readonly ProxiedRequest[] {
    return this.#proxies.flatMap(({ requests }) => requests);
  }

  #allow(ms: number): Promise<void> {
    return Deno.writeTextFile(this.fence, `${(Date.now() + ms) / 1_000}\n`);
  }
}
