/** The devnet of a round with all that can be made to fail: processes, endpoints, accounts, blocks, clock and disk. */
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { resultHttp } from "../../devnet/hub/json_rpc_client.ts";
import type { ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { type RpcProxy, startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import { LIES } from "./lies.ts";
import type { FakedClock, SmallDisk } from "./machine.ts";
import type { EvmPlace, Place, Trouble } from "./plan.ts";
import type { Supervisor } from "./supervisor.ts";

/** The endpoints of an EVM chain: the first may lie. */
interface ChainEndpoints {
  readonly first: RpcProxy;
  readonly second: RpcProxy;
  readonly liar: RpcProxy;
}

/** Parts of the machine that can be had here. */
export interface StageMachine {
  readonly clock: FakedClock | undefined;
  readonly disk: SmallDisk | undefined;
}

/** See the head of the file. */
export class Stage implements AsyncDisposable {
  readonly #devnet: Devnet;
  readonly #machine: StageMachine;
  readonly #resources: AsyncDisposableStack;
  readonly #hub: RpcProxy;
  readonly #endpoints: Readonly<Record<EvmPlace, ChainEndpoints>>;

  private constructor(
    parts: { readonly devnet: Devnet; readonly machine: StageMachine; readonly hub: RpcProxy },
    endpoints: Readonly<Record<EvmPlace, ChainEndpoints>>,
    resources: AsyncDisposableStack,
  ) {
    this.#devnet = parts.devnet;
    this.#machine = parts.machine;
    this.#hub = parts.hub;
    this.#endpoints = endpoints;
    this.#resources = resources;
  }

  /** Puts proxies in front of every node. */
  static async set(devnet: Devnet, machine: StageMachine): Promise<Stage> {
    await using resources = new AsyncDisposableStack();
    const endpointsOf = async (place: EvmPlace): Promise<ChainEndpoints> => {
      const { rpcUrl } = devnet.chain(place);
      const liar = resources.use(await startRpcProxy({ upstream: rpcUrl }));
      return {
        liar,
        first: resources.use(await startRpcProxy({ upstream: liar.httpUrl })),
        second: resources.use(await startRpcProxy({ upstream: rpcUrl })),
      };
    };
    const endpoints = { A: await endpointsOf("A"), B: await endpointsOf("B") };
    const hub = resources.use(await startRpcProxy({ upstream: devnet.hub.httpUrl }));
    return new Stage({ devnet, machine, hub }, endpoints, resources.move());
  }

  /** A relayer that uses these endpoints. */
  get changes(): ConfigChanges {
    const urls = (["A", "B"] as const).map((place) => {
      const { first, second } = this.#endpoints[place];
      return [this.#devnet.chain(place).stateMachine, [first.httpUrl, second.httpUrl]] as const;
    });
    return { hubUrl: this.#hub.wsUrl, rpcUrls: Object.fromEntries(urls) };
  }

  /** Makes a trouble begin. The result ends it; for what happens at once it does nothing. */
  async begin(trouble: Trouble, supervisor: Supervisor): Promise<() => Promise<void>> {
    switch (trouble.kind) {
      case "kill":
      case "stop":
        await supervisor.takeDown(trouble.kind);
        return () => Promise.resolve(supervisor.letUp());
      case "endpoint":
        return await this.#changeEndpoints(trouble);
      case "cut":
        this.#hub.cutSockets();
        return nothing;
      case "lie":
        return await this.#lie(trouble);
      case "reorganisation":
        await this.#reorganise(this.#devnet.chain(trouble.place), trouble.blocks);
        return nothing;
      case "empty_wallet":
        return await this.#emptyWallet(this.#devnet.chain(trouble.place));
      case "no_updates":
        return await this.#holdUpdates(this.#devnet.chain(trouble.place));
      case "clock":
        await this.#machine.clock?.set(trouble.seconds);
        return () => this.#machine.clock?.set(0) ?? Promise.resolve();
      case "disk_full":
        await this.#machine.disk?.fill();
        return () => this.#machine.disk?.clear() ?? Promise.resolve();
      case "rotation":
        this.#devnet.prover?.rotateNext();
        return nothing;
    }
  }

  async #changeEndpoints(
    { place, isWhole, mode }: Extract<Trouble, { kind: "endpoint" }>,
  ): Promise<() => Promise<void>> {
    const proxies = this.#proxiesOf(place, isWhole);
    await Promise.all(proxies.map((proxy) => proxy.setMode(mode)));
    return async () => {
      await Promise.all(proxies.map((proxy) => proxy.setMode({ kind: "pass" })));
    };
  }

  #proxiesOf(place: Place, isWhole: boolean): readonly RpcProxy[] {
    if (place === "hub") return [this.#hub];
    const { first, second } = this.#endpoints[place];
    return isWhole ? [first, second] : [first];
  }

  async #lie({ place, about }: Extract<Trouble, { kind: "lie" }>): Promise<() => Promise<void>> {
    const { liar } = this.#endpoints[place];
    await liar.setMode({ kind: "alter", alter: LIES[about] });
    return () => liar.setMode({ kind: "pass" });
  }

  async #reorganise({ node, proven }: DevnetChain, blocks: number): Promise<void> {
    // The beacon chain goes back with its execution chain, and not behind what is final.
    if (proven.beacon !== undefined) await proven.beacon.reorg(1);
    else await resultHttp(node.rpcUrl, "anvil_reorg", [blocks, []]);
  }

  async #emptyWallet({ host }: DevnetChain): Promise<() => Promise<void>> {
    const { address } = DEVNET_ACCOUNTS.relayer;
    const before = await host.reader.getBalance({ address });
    await host.node.setBalance({ address, value: 0n });
    return () => host.node.setBalance({ address, value: before });
  }

  async #holdUpdates({ stateMachine: from }: DevnetChain): Promise<() => Promise<void>> {
    const direction = { from, to: this.#devnet.hub.identity.stateMachine };
    await this.#devnet.oracle.pause(direction);
    return () => Promise.resolve(this.#devnet.oracle.resume(direction));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

function nothing(): Promise<void> {
  return Promise.resolve();
}
