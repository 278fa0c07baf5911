/**
 * The simulated hub: a Substrate node with the ISMP pallets that speaks the live JSON-RPC and verifies every
 * proof. Start at {@link startHub}. What it leaves out: other nodes, forks, seals, balances, signed extrinsics.
 */
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import { requestReceiptCodec } from "../../src/core/ismp/host_state.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  type StateCommitment,
  type StateMachine,
  type StateMachineHeight,
  type StateMachineId,
  stateMachineParts,
} from "../../src/core/ismp/state_machine.ts";
import { childTrieKeys } from "../../src/core/ismp/storage_keys.ts";
import { decodeStrict } from "../../src/core/encoding/scale.ts";
import { assembleChain, assembleHub, type ChainRuntime, type HubPallets } from "./assembly.ts";
import { type AdminAction, type BuiltBlock, HubBlockchain } from "./blocks.ts";
import type { SimulatedHeader } from "./digest.ts";
import { type Enqueue, Governance } from "./governance.ts";
import {
  type BlockName,
  type HubOptions,
  identities,
  type OrdinaryChain,
  type Rejection,
  type SentPost,
} from "./hub_options.ts";
import type { HubIdentity, HubNode } from "./node.ts";
import type { BandwidthCredit } from "./pallets/bandwidth.ts";
import type { NewConsensusClient, OutgoingPost } from "./pallets/ismp.ts";
import { IsmpError } from "./pallets/ismp_error.ts";
import { recordRelayParent } from "./pallets/consensus_clients.ts";
import { OwnProofs } from "./own_proofs.ts";
import { nameOf, SimulatedNode } from "./simulated_node.ts";
import { StandaloneFinality } from "./standalone_finality.ts";
import { defaultPoolOptions, TransactionPool } from "./pool.ts";
import { authorMethods, chainMethods, systemMethods } from "./rpc/chain_methods.ts";
import { ismpMethods } from "./rpc/ismp_methods.ts";
import { stateMethods } from "./rpc/state_methods.ts";
import { DispatchError, type Execution, type RejectionListener } from "./runtime.ts";

export { demoModuleId } from "./pallets/chain_router.ts";
export {
  type BlockName,
  type HubOptions,
  type OrdinaryChain,
  type Rejection,
  type SentPost,
} from "./hub_options.ts";

/** How many refusals {@link Hub.rejections} remembers. */
const rememberedRejections = 1000;

interface PendingAction {
  readonly run: AdminAction;
  readonly settle: (block: BlockName) => void;
}

/** A running hub. Methods that change the chain take effect in the next block and resolve with it. */
export class Hub extends SimulatedNode {
  readonly identity: HubIdentity;
  /** What is set for relayers, and what they own. */
  readonly governance: Governance;
  readonly #node: HubNode;
  readonly #hubOnly: HubPallets | undefined;
  readonly #ownProofs: OwnProofs | undefined;
  #finality: StandaloneFinality | undefined;
  readonly #now: () => number;
  readonly #relayParent: HubOptions["relayParent"];
  readonly #rejections: Rejection[] = [];
  #actions: PendingAction[] = [];
  #offsetMs = 0;

  /** Not for callers: use {@link startHub}. */
  constructor(options: HubOptions) {
    super(options.blockTimeMs ?? 1000);
    const name = options.runtime ?? "gargantua";
    this.identity = options.chain === undefined ? identities[name] : identityOf(options.chain);
    this.#now = options.now ?? Date.now;
    this.#relayParent = options.relayParent;
    const parts = options.chain === undefined
      ? assembleHub(name, this.identity, options)
      : assembleChain(options.chain);
    this.#hubOnly = parts.hubOnly;
    this.#node = this.#makeNode(options, { ...parts, mmr: parts.hubOnly?.mmr });
    const enqueue: Enqueue = (run) => this.#enqueue(run);
    this.governance = new Governance(
      { balances: parts.balances, relayer: parts.hubOnly?.relayer },
      enqueue,
      () => this.#node.chain.bestState,
    );
    this.#ownProofs = parts.hubOnly && new OwnProofs(parts.hubOnly.beefy, enqueue, this.#node.chain);
    this.#serveNode(options);
    this.#setUp(options, parts);
    this.produceBlock();
  }

  /** What the first block does. */
  #setUp(options: HubOptions, { ismp, balances }: ChainRuntime): void {
    for (const client of options.clients ?? []) {
      void this.#enqueue((execution) => ismp.createConsensusClient(execution, client));
      for (const chain of client.challengePeriodsSec.keys()) void this.acceptMessages(client.clientId, chain);
    }
    for (const write of options.consensus ?? []) void this.#enqueue(write);
    for (const [account, free] of options.balances ?? []) {
      void this.#enqueue(({ overlay }) => balances.set(overlay, account, free));
    }
    for (const [chain, address] of options.hosts ?? []) void this.setHost(chain, address);
    for (const [chain, params] of options.hostParams ?? []) {
      void this.governance.setHostParams(chain, params);
    }
    if (options.trustedState !== undefined) void this.ownProofs.initializeState(options.trustedState);
  }

  #makeNode(options: HubOptions, parts: Pick<HubNode, "runtime" | "mmr" | "ismp">): HubNode {
    const { blockTimeMs = 1000 } = options;
    const slotDurationMs = blockTimeMs === "manual" ? 1000 : blockTimeMs;
    const { runtime, ismp } = parts;
    const chain = new HubBlockchain(runtime, ismp, {
      slotDurationMs,
      finalityLag: 1,
      historyBlocks: options.historyBlocks ?? 4096,
      genesis: (execution) => {
        const identity = stateMachineParts(this.identity.stateMachine);
        if (identity.tag === "Polkadot" || identity.tag === "Kusama") {
          runtime.system.parachainId.put(execution.overlay, identity.value);
        }
        if (options.chain?.voters !== undefined) StandaloneFinality.genesis(execution.overlay);
      },
    });
    const onRejection: RejectionListener = (rejection) => this.#remember(rejection);
    const pool = new TransactionPool({
      runtime,
      chain,
      options: { ...defaultPoolOptions, ...options.pool },
      now: () => this.nowMs,
      onRejection,
    });
    const voters = options.chain?.voters;
    this.#finality = voters === undefined ? undefined : new StandaloneFinality(chain, voters);
    return {
      ...parts,
      justificationsOf: (block) => this.#finality?.justificationsOf(block) ?? null,
      identity: this.identity,
      chain,
      pool,
      onRejection,
    };
  }

  #serveNode({ port }: HubOptions): void {
    const node = this.#node;
    const methods = {
      ...systemMethods(node),
      ...chainMethods(node),
      ...stateMethods(node),
      ...authorMethods(node),
      ...ismpMethods(node),
    };
    this.serve({
      methods: this.#finality?.methods(methods) ?? methods,
      ...port === undefined ? {} : { port },
    });
  }

  /** Accepted proofs about the hub itself. @throws {Error} on other chains. */
  get ownProofs(): OwnProofs {
    return this.#ownProofs ?? noHub();
  }

  protected override get chain(): HubBlockchain {
    return this.#node.chain;
  }

  /** Header of the newest final block: its digest names the roots that light clients of the hub take over. */
  get finalizedHeader(): SimulatedHeader {
    return this.#node.chain.finalized.header;
  }

  /** Where the next block takes its time from, Unix milliseconds. */
  get nowMs(): number {
    return this.#now() + this.#offsetMs;
  }

  /** Refusals, oldest first; the oldest are forgotten. */
  get rejections(): readonly Rejection[] {
    return this.#rejections;
  }

  /** Moves the hub's clock on; seen from the next block. */
  advanceTime(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Makes one block now, of all pending actions and whatever of the pool fits. */
  override produceBlock(): BlockName {
    const { chain, pool, runtime } = this.#node;
    const before = runtime.system.now.get(chain.bestState.main) ?? 0n;
    const now = BigInt(Math.floor(this.nowMs));
    const actions = this.#actions;
    this.#actions = [];
    const built = chain.build(now > before ? now : before + 1n, pool.ready(), [
      (execution) => recordRelayParent(execution, this.#relayParent?.()),
      ...actions.map(({ run }) => run),
    ]);
    const name = nameOf(built.block);
    this.#reportFailures(built);
    pool.onBlock(built);
    chain.advanceFinality();
    for (const { settle } of actions) settle(name);
    return name;
  }

  /** Writes what the consensus clients are told by governance and fishermen: items of `consensusSettings`. */
  change(write: AdminAction): Promise<BlockName> {
    return this.#enqueue(write);
  }

  /** Creates or replaces a light client. */
  createConsensusClient(client: NewConsensusClient): Promise<BlockName> {
    return this.#enqueue((execution) => this.#node.ismp.createConsensusClient(execution, client));
  }

  /**
   * Lets the client of a beacon chain prove a chain, the beacon chain's own or a rollup's, as governance does with
   * `add_state_machine`; false takes that back. No other client has such a list.
   */
  acceptMessages(client: ConsensusClientId, chain: StateMachine, isAccepted = true): Promise<BlockName> {
    return this.#enqueue((execution) => this.#node.ismp.setAccepted(execution, client, chain, isAccepted));
  }

  /** Fixture of unit tests: stores a state commitment as a light client's update does, but nothing proves it. */
  plantCommitment(id: StateMachineId, height: bigint, commitment: StateCommitment): Promise<BlockName> {
    return this.plantCommitments(id, [{ height, commitment }]);
  }

  /** Those of one update, like {@link plantCommitment}: known and older heights are skipped, one event for the highest. */
  plantCommitments(
    id: StateMachineId,
    commitments: readonly { readonly height: bigint; readonly commitment: StateCommitment }[],
  ): Promise<BlockName> {
    return this.#enqueue((execution) => this.#node.ismp.storeCommitments(execution, id, commitments));
  }

  /** Removes a commitment as a fisherman's veto does. */
  veto(at: StateMachineHeight): Promise<BlockName> {
    return this.#enqueue((execution) => this.#node.ismp.veto(execution, at));
  }

  /** Removes a commitment as eviction does: silently, the latest height stays. */
  pruneCommitment(at: StateMachineHeight): Promise<BlockName> {
    return this.#enqueue(({ overlay }) => this.#node.ismp.storage.removeCommitment(overlay, at));
  }

  /** Sets how many commitments of a chain are kept. */
  setCommitmentCap(id: StateMachineId, cap: number): Promise<BlockName> {
    return this.#enqueue(this.#node.ismp.storage.commitmentCap.to(cap, id));
  }

  /** Sets the challenge period of a chain, seconds. */
  setChallengePeriod(id: StateMachineId, periodSec: bigint): Promise<BlockName> {
    return this.#enqueue(this.#node.ismp.storage.challengePeriodSec.to(periodSec, id));
  }

  /** Stops a light client as a fraud proof does. */
  freezeClient(stateId: ConsensusStateId): Promise<BlockName> {
    return this.#enqueue((execution) => this.#node.ismp.freeze(execution, stateId));
  }

  /** Lets a frozen light client continue, as governance does. */
  unfreezeClient(stateId: ConsensusStateId): Promise<BlockName> {
    return this.#enqueue(this.#node.ismp.storage.frozenConsensusClients.to(false, stateId));
  }

  /** Sets the ISMP host of an EVM chain. */
  setHost(chain: StateMachine, address: Uint8Array): Promise<BlockName> {
    return this.#enqueue((this.#hubOnly ?? noHub()).hostExecutive.evmHosts.to(address, chain));
  }

  /** Puts an application on the list of those that need no bandwidth, or takes it off. */
  setBandwidthAllowlist(source: StateMachine, app: Uint8Array, on: boolean): Promise<BlockName> {
    const { bandwidth } = this.#hubOnly ?? noHub();
    return this.#enqueue(({ overlay }) => bandwidth.setAllowlist(overlay, source, app, on));
  }

  /** Gives an application bandwidth. */
  creditBandwidth(credit: BandwidthCredit): Promise<BlockName> {
    return this.#enqueue((execution) => (this.#hubOnly ?? noHub()).bandwidth.credit(execution, credit));
  }

  /** Sends a post of the chain itself. */
  async dispatchPost(post: OutgoingPost): Promise<SentPost> {
    let sent: Omit<SentPost, "block"> | undefined;
    const block = await this.#enqueue((execution) => {
      sent = this.#node.ismp.dispatchPost(execution, post);
    });
    if (sent === undefined) throw new Error("The post was not dispatched");
    return { ...sent, block };
  }

  /** Who delivered a request to the hub; undefined without a receipt. */
  findReceipt(commitment: Hash256): Uint8Array | undefined {
    const receipt = this.#node.chain.bestState.child.get(childTrieKeys.requestReceipt(commitment));
    return receipt === undefined ? undefined : decodeStrict(requestReceiptCodec, receipt, "RequestReceipt");
  }

  /** True when the hub dispatched the request or routed it on. */
  hasRequest(commitment: Hash256): boolean {
    return this.#node.chain.bestState.child.get(childTrieKeys.requestCommitment(commitment)) !== undefined;
  }

  /** Latest height of a chain that the hub knows, undefined when none. */
  latestHeight(id: StateMachineId): bigint | undefined {
    return this.#node.ismp.storage.latestHeight.get(this.#node.chain.bestState.main, id);
  }

  #enqueue(run: (execution: Execution) => void): Promise<BlockName> {
    return new Promise((resolve, reject) => {
      let failure: unknown;
      this.#actions.push({
        run: (execution) => {
          try {
            execution.overlay.transaction(() => run(execution));
          } catch (error) {
            failure = error ?? new Error("The action failed");
          }
        },
        settle: (block) => failure === undefined ? resolve(block) : reject(failure),
      });
    });
  }

  #reportFailures({ included }: BuiltBlock): void {
    for (const { candidate, result } of included) {
      if (result.kind !== "failed") continue;
      this.#remember({ stage: "block", extrinsic: candidate.bytes, error: result.error });
    }
  }

  #remember({ stage, extrinsic, error }: Parameters<RejectionListener>[0]): void {
    const causes = causesOf(error);
    const found = causes.find((cause) => cause instanceof IsmpError);
    this.#rejections.push({
      stage,
      extrinsic: this.#node.runtime.extrinsicHash(extrinsic),
      code: error.code,
      // The innermost: what a decompressed call failed with, not that it did.
      dispatch: causes.findLast((cause) => cause instanceof DispatchError)?.message,
      ismp: found?.code,
      detail: found?.message ?? error.message,
    });
    if (this.#rejections.length > rememberedRejections) this.#rejections.shift();
  }
}

/** Starts a hub: block 1 exists when it returns. */
export async function startHub(options: HubOptions = {}): Promise<Hub> {
  const hub = new Hub(options);
  await hub.start();
  return hub;
}

/** A chain that is not the hub was asked for what only the hub has. */
function noHub(): never {
  throw new Error("This chain is not the hub");
}

function identityOf({ stateMachine, consensusStateId }: OrdinaryChain): HubIdentity {
  return { stateMachine, consensusStateId, chainName: `Devnet ${stateMachine}` };
}

/** An error with what caused it, outermost first. */
function causesOf(error: unknown): readonly Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}
