/**
 * The hub, a parachain beside it and the headers of Polkadot Hub on one relay chain, with provers between them: nothing
 * moves by itself.
 */
import {
  type IsmpHostReader,
  ParachainProver,
  type ParachainProverOptions,
} from "../../../../src/consensus/clients/parachain/parachain_prover.ts";
import type { ConsensusProver, ProverFinding } from "../../../../src/consensus/prover.ts";
import type { ConsensusTarget } from "../../../../src/core/chains/consensus_target.ts";
import {
  parseStateMachine,
  type StateMachineId,
  toConsensusStateId,
  toParaId,
} from "../../../../src/core/ismp/state_machine.ts";
import { connectConsensus, include } from "../../../../devnet/hub/consensus_work.ts";
import { digestItem, encodeHeader, type SimulatedHeader } from "../../../../devnet/hub/digest.ts";
import { demoModuleId, type Hub, startHub } from "../../../../devnet/hub/hub.ts";
import { parachainClientId } from "../../../../devnet/hub/pallets/consensus_clients.ts";
import { consensusSettings } from "../../../../devnet/hub/pallets/consensus_verifiers.ts";
import {
  type RelayChainNode,
  type RelaySimulatorOptions,
  startRelayChain,
} from "../../../../devnet/relay/relay_chain.ts";
import { connectRelay } from "../../../../devnet/relay/relay_reader.ts";
import {
  type DevnetSubstrateChain,
  relayParentOf,
  startSubstrateChain,
} from "../../../../devnet/chains/substrate_chains.ts";
import { type Hash256, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { u64 } from "../../../../src/core/encoding/scale.ts";
import { POLKADOT_HUB_PARA_ID } from "../../../../src/core/ismp/polkadot_hub.ts";
import { withMethods } from "../../../support/with_methods.ts";

export const never: AbortSignal = new AbortController().signal;

/** Name of the clients on both. */
const hubStateId = toConsensusStateId("PAS0");

/** Id of the parachain beside the hub. */
export const SIBLING = 2000;

/** How the hub stores Polkadot Hub. */
export const POLKADOT_HUB: StateMachineId = {
  stateMachine: parseStateMachine("EVM-420420417"),
  consensusStateId: hubStateId,
};

/** Milliseconds of its slots. */
export const SLOT_MS = 24_000n;

/** A slot of it in August 2026. */
const FIRST_SLOT = 74_456_947n;

/** Header of Polkadot Hub: dated by its slot alone. */
export function polkadotHubHeader(number: number, slot: bigint = FIRST_SLOT): SimulatedHeader {
  const root = (what: number): Hash256 => toHash256(new Uint8Array(32).fill(what));
  return {
    parentHash: root(1),
    number,
    stateRoot: toHash256(new Uint8Array(32).fill(number & 0xff, 4)),
    extrinsicsRoot: root(2),
    digest: [digestItem("preRuntime", "aura", u64.enc(slot)), digestItem("seal", "aura", new Uint8Array(64))],
  };
}

/** What differs from the usual setup. */
export interface FixtureOptions {
  readonly relay?: RelaySimulatorOptions;
  /** Parachains that the hub follows; default the sibling. */
  readonly followed?: readonly number[];
  /** False: the hub has no client of parachains. */
  readonly hasClient?: boolean;
  /** False: the sibling knows no relay chain, and lists no parachain. */
  readonly knowsRelay?: boolean;
  /** Milliseconds by which the hub dates the headers of Polkadot Hub; default: it does not. */
  readonly slotMs?: bigint;
}

/** All chains. */
export class Fixture implements AsyncDisposable {
  readonly #resources: AsyncDisposableStack;
  /** Heads besides those of {@link Hub}s; absent: the relay chain makes one up. */
  readonly #others: { polkadotHub?: SimulatedHeader | undefined };

  private constructor(
    resources: AsyncDisposableStack,
    others: { polkadotHub?: SimulatedHeader | undefined },
    readonly hub: Hub,
    readonly relay: RelayChainNode,
    readonly chain: DevnetSubstrateChain,
  ) {
    this.#resources = resources;
    this.#others = others;
  }

  /** None knows a height of the other. */
  static async start(
    { relay: options, followed = [SIBLING], hasClient = true, knowsRelay = true, slotMs }: FixtureOptions =
      {},
  ): Promise<Fixture> {
    await using resources = new AsyncDisposableStack();
    const parachains: Hub[] = [];
    const others: { polkadotHub?: SimulatedHeader | undefined } = {};
    const relay = resources.use(
      await startRelayChain({
        blockTimeMs: "manual",
        heads: () =>
          new Map([
            ...parachains.map(({ identity, finalizedHeader }) =>
              [toParaId(identity.stateMachine), encodeHeader(finalizedHeader)] as const
            ),
            ...others.polkadotHub === undefined
              ? []
              : [[POLKADOT_HUB_PARA_ID, encodeHeader(others.polkadotHub)] as const],
          ]),
        ...options,
      }),
    );
    const hub = resources.use(
      await startHub({
        blockTimeMs: "manual",
        consensus: [
          ...followed.map((paraId) => consensusSettings.followedParachain.to(undefined, paraId)),
          ...slotMs === undefined ? [] : [consensusSettings.slotDuration.to(slotMs, POLKADOT_HUB_PARA_ID)],
        ],
        relayParent: () => relayParentOf(relay),
        ...hasClient && {
          clients: [{
            stateId: hubStateId,
            clientId: parachainClientId,
            unbondingPeriodSec: 1_000_000n,
            challengePeriodsSec: new Map([[parseStateMachine(`KUSAMA-${SIBLING}`), 0n]]),
          }],
        },
      }),
    );
    const chain = await startSubstrateChain("sibling", hub.identity, {
      stateMachine: `KUSAMA-${SIBLING}`,
      blockTimeMs: "manual",
      ...knowsRelay && { relay },
    });
    resources.use(chain.node);
    parachains.push(hub, chain.node);
    const fixture = new Fixture(resources.move(), others, hub, relay, chain);
    fixture.advance(3);
    return fixture;
  }

  /** The newest header of Polkadot Hub, which the next blocks of the relay chain have. */
  set polkadotHub(header: SimulatedHeader) {
    this.#others.polkadotHub = header;
  }

  /** As the other chain knows it. */
  get hubId(): StateMachineId {
    return this.hub.identity;
  }

  get chainId(): StateMachineId {
    const { stateMachine, consensusStateId } = this.chain;
    return { stateMachine, consensusStateId };
  }

  /** The adapter of a chain. */
  connect({ identity }: Hub): ConsensusTarget {
    const { stateMachine, consensusStateId } = identity;
    const hashing = identity === this.hub.identity ? "Keccak" : "Blake2";
    const to = this.#resources.use(
      connectConsensus(identity === this.hub.identity ? this.hub : this.chain.node, {
        id: { stateMachine, consensusStateId },
        hashing,
      }),
    );
    return to.hub;
  }

  /** Proves the hub to the sibling. */
  ofHub(options: ProverChanges = {}): ConsensusProver {
    return this.#prover(this.hubId, this.chain.node, options);
  }

  /** Proves the sibling to the hub. */
  ofSibling(options: ProverChanges = {}): ConsensusProver {
    return this.#prover(this.chainId, this.hub, options);
  }

  /** Proves Polkadot Hub to the hub. */
  ofPolkadotHub(options: ProverChanges = {}): ConsensusProver {
    return this.#prover(POLKADOT_HUB, this.hub, {
      relayKey: "[polkadot-hub.host].relay_rpc_ws",
      ...options,
    });
  }

  #prover(
    of: StateMachineId,
    to: Hub,
    { relayUrl = this.relay.wsUrl, laterSec, host, ...change }: ProverChanges,
  ): ConsensusProver {
    const reader = this.#resources.use(connectRelay(relayUrl));
    const hub = this.hub.identity.stateMachine;
    const target = this.connect(to);
    const fetchNowSec = async (signal: AbortSignal): Promise<bigint> =>
      await target.reads.fetchNowSec(signal) + (laterSec?.() ?? 0n);
    const later = withMethods(target, { reads: withMethods(target.reads, { fetchNowSec }) });
    return new ParachainProver({ relay: reader.chain, target: later, ...host && { host } }, {
      ...of,
      intervalMs: 300_000,
      hub,
      ...change,
    });
  }

  /** Newest height of the hub that the sibling knows. */
  get knownOfHub(): bigint | undefined {
    return this.chain.node.latestHeight(this.hubId);
  }

  /** Newest height of the sibling that the hub knows. */
  get knownOfSibling(): bigint | undefined {
    return this.hub.latestHeight(this.chainId);
  }

  /** New final blocks of both parachains, relay chain blocks with their heads, and final blocks that know of these. */
  advance(blocks = 1): { readonly hub: SimulatedHeader; readonly sibling: SimulatedHeader } {
    this.#produce(blocks);
    const heads = { hub: this.hub.finalizedHeader, sibling: this.chain.node.finalizedHeader };
    this.relay.produceBlocks(2);
    this.#produce(2);
    return heads;
  }

  /** Each chain sends a message: their next heads are news. */
  async send(): Promise<void> {
    const sent = [this.hub, this.chain.node].map((node) =>
      node.dispatchPost({
        dest: parseStateMachine("EVM-1"),
        from: demoModuleId,
        to: demoModuleId,
        body: Uint8Array.of(1),
        timeoutSec: 0n,
      })
    );
    this.#produce(1);
    await Promise.all(sent);
  }

  #produce(blocks: number): void {
    for (let made = 0; made < blocks; made++) {
      this.hub.produceBlock();
      this.chain.node.produceBlock();
    }
  }

  /** Submits a finding to the chain that a prover tells. @throws {Error} unless the chain takes it. */
  async submit(to: Hub, { proofs }: Extract<ProverFinding, { kind: "updates" }>): Promise<void> {
    const id = { ...to.identity, consensusStateId: hubStateId };
    const outcome = await include(to, this.connect(to), id, proofs);
    const isTaken = outcome.kind === "included" && outcome.succeeded;
    if (!isTaken) throw new Error(`The chain did not take it: ${JSON.stringify(to.rejections)}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

/** What differs about a prover. */
export interface ProverChanges extends Partial<ParachainProverOptions> {
  /** Default the honest node. */
  readonly relayUrl?: string;
  /** What the host on Polkadot Hub sent and received. */
  readonly host?: IsmpHostReader;
  /** By how much the clock of the chain that is told goes ahead. */
  readonly laterSec?: () => bigint;
}
