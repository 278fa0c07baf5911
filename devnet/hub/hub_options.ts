/**
 * What can be chosen about a simulated hub, and what it reports.
 */
import type { AdminAction } from "./blocks.ts";
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import type { PostRequest } from "../../src/core/ismp/message.ts";
import type { HashAlgorithm } from "../../src/core/ismp/proof.ts";
import {
  type ConsensusStateId,
  parseStateMachine,
  type StateMachine,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import type { ChildTrieName } from "../../src/core/ismp/storage_keys.ts";
import type { HubIdentity } from "./node.ts";
import type { RelayParent } from "./pallets/consensus_clients.ts";
import type { NewConsensusClient } from "./pallets/ismp.ts";
import type { IsmpErrorCode } from "./pallets/ismp_error.ts";
import type { PoolOptions } from "./pool.ts";
import type { RuntimeName } from "./runtime_metadata.ts";
import type { EvmHostParam } from "./pallets/host_executive.ts";

/** Who the two hubs are. */
export const identities: Readonly<Record<RuntimeName, HubIdentity>> = {
  gargantua: {
    stateMachine: parseStateMachine("KUSAMA-4009"),
    consensusStateId: toConsensusStateId("PAS0"),
    chainName: "Hub devnet (gargantua)",
  },
  nexus: {
    stateMachine: parseStateMachine("POLKADOT-3367"),
    consensusStateId: toConsensusStateId("DOT0"),
    chainName: "Hub devnet (nexus)",
  },
};

/** A chain that is not the hub: pallet-ismp without the hub's own pallets. */
export interface OrdinaryChain {
  readonly stateMachine: StateMachine;
  /** Consensus state id under which the hub knows it. */
  readonly consensusStateId: ConsensusStateId;
  /** Hash of headers, extrinsics and tries. */
  readonly hashing: HashAlgorithm;
  /** Default `ISMPv2`; `ISMP` is that of releases up to July 2025. */
  readonly childTrie?: ChildTrieName;
  /** A standalone chain: that many GRANDPA voters make its blocks final. Needs BLAKE2 as hash of its headers. */
  readonly voters?: number;
  /** The hub, which may prove requests of other chains and orders payments to relayers. */
  readonly coprocessor: StateMachine;
}

/** Options of `startHub`. */
export interface HubOptions {
  /** An ordinary chain instead of a hub: then `runtime`, `hosts`, `bandwidthGate` and the like mean nothing. */
  readonly chain?: OrdinaryChain;
  /** Whose metadata, identity and rules; default gargantua. */
  readonly runtime?: RuntimeName;
  /** Port on 127.0.0.1; default 0, a free one. */
  readonly port?: number;
  /** Milliseconds between blocks, or `manual` for `Hub.produceBlock`; default 1000. */
  readonly blockTimeMs?: number | "manual";
  /** Blocks whose state and body are kept; default 4096. */
  readonly historyBlocks?: number;
  /** Light clients from the start. */
  readonly clients?: readonly NewConsensusClient[];
  /** What governance tells those clients of contracts, epochs and chains: writes of `consensusSettings`. */
  readonly consensus?: readonly AdminAction[];
  /** The relay chain block that the next block builds on; left out: the chain learns of no relay chain. */
  readonly relayParent?: () => RelayParent;
  /** ISMP hosts of EVM chains, 20 bytes each. */
  readonly hosts?: ReadonlyMap<StateMachine, Uint8Array>;
  /** Parameters of those hosts, for withdrawals to their chains. */
  readonly hostParams?: ReadonlyMap<StateMachine, EvmHostParam>;
  /** What the hub trusts about itself, as EVM hosts are initialised (256 bytes): needed to accept proofs. */
  readonly trustedState?: Uint8Array;
  /** Native balances from the start. */
  readonly balances?: ReadonlyMap<Hash256, bigint>;
  /** True: senders need bandwidth; default false (a gargantua built without the gate). */
  readonly bandwidthGate?: boolean;
  readonly pool?: Partial<PoolOptions>;
  /** Unix milliseconds; default the machine's clock. */
  readonly now?: () => number;
}

/** Why an extrinsic was refused, deeper than the wire tells. */
export interface Rejection {
  readonly stage: "pool" | "block" | "dryRun";
  /** Hash of the extrinsic. */
  readonly extrinsic: Hash256;
  /** Name of the validity or dispatch error, e.g. `BadProof`, `InvalidMessage`. */
  readonly code: string;
  /** `Pallet.Error` of the call, where one failed. */
  readonly dispatch: string | undefined;
  /** What the message handlers found, where they were reached. */
  readonly ismp: IsmpErrorCode | undefined;
  readonly detail: string;
}

/** A block by number and hash. */
export interface BlockName {
  readonly number: number;
  readonly hash: Hash256;
}

/** A post that the hub sent, and the block it is in. */
export interface SentPost {
  readonly request: PostRequest;
  readonly commitment: Hash256;
  readonly block: BlockName;
}
