/** What can be chosen about a devnet. */
import type { ConsensusChanges } from "./programs/consensus_config.ts";
import type { ConsensusProcessOptions } from "./programs/consensus_relayer.ts";
import type { ChainKind, HubRuntime, ProvenChainOptions } from "./chains/proven_chains.ts";
import type { RelaySimulatorOptions } from "./relay/relay_chain.ts";
import type { DevnetSubstrateOptions } from "./chains/substrate_chains.ts";

/** Options of `startDevnet`. */
export interface DevnetOptions {
  /** Runtime of the hub, and with it the networks that its EVM chains are of. Default `gargantua`. */
  readonly hub?: HubRuntime;
  /**
   * The EVM chains by how they become final, each kind once; rollups need a `beacon` chain. Default beacon and bsc; none
   * starts fastest.
   */
  readonly kinds?: readonly ChainKind[];
  /** What differs about them. */
  readonly proven?: Partial<Omit<ProvenChainOptions, "blockTimeSec" | "hub" | "relayUrl">>;
  /** Seconds between blocks of the EVM chains, or a block per transaction. Default 1. */
  readonly blockTimeSec?: number | "automine";
  /** Milliseconds between blocks of the hub. Default 1000. */
  readonly hubBlockTimeMs?: number;
  /** Milliseconds between blocks of the relay chain. Default that of the hub, 250 at most. */
  readonly relayBlockTimeMs?: number;
  /** How the relay chain's validators vote, and what its node keeps of it. */
  readonly relay?: Pick<
    RelaySimulatorOptions,
    "grandpaPeriod" | "sessionBlocks" | "splitVotes" | "validators"
  >;
  /** Of the hub on every chain, seconds. Default 0. */
  readonly evmChallengePeriodSec?: bigint;
  /** The devnet's applications need bandwidth like any other sender; false: the hub's allow list has them. Default false. */
  readonly bandwidthGate?: boolean;
  /** Substrate chains beside the EVM chains. Default none. */
  readonly substrateChains?: readonly DevnetSubstrateOptions[];
  /**
   * Nobody proves the hub to the EVM hosts, a prover proves it to the hub itself: relayers carry those proofs to the
   * hosts together with messages. Every `rotateEvery` accepted proofs is a rotation of the authority set; 0 (default):
   * none but those that somebody asks for.
   */
  readonly acceptsProofs?: { readonly rotateEvery?: number };
  /**
   * Who proves the EVM chains to the hub: a consensus relayer for each chain (`each`, the default), so that they can be
   * held up one by one, one for all of them (`together`), or nobody (`none`). `planted`: the hub is given their heights
   * without a proof, and they have neither validators nor claims about rollups, for tests that do not look at how
   * chains become final.
   */
  readonly feeds?: "each" | "together" | "none" | "planted";
  /**
   * Who proves the hub to the EVM hosts and to Substrate chains that take GRANDPA votes: the devnet itself (`devnet`, the
   * default), so that each can be held up, or consensus relayers (`program`): the one of the EVM chains (with feeds
   * `together`) by proofs that the hub has accepted, a rotation always and a height only where there is work, and another
   * one for the Substrate chains. `none`: nobody, while the hub accepts proofs for whoever comes.
   */
  readonly hubFeed?: "devnet" | "program" | "none";
  /** How consensus relayers are started, and whose account they use on EVM chains (default `relayer`). */
  readonly consensusRelayer?:
    & Pick<ConsensusProcessOptions, "logFormat" | "logLevel" | "onLine" | "onStarted">
    & Pick<ConsensusChanges, "signer">;
  /** Ports to use where they are free; 0 or unset: any. */
  readonly ports?: { readonly hub?: number; readonly evm?: readonly number[] };
  /** Default true. False: nobody tells anybody anything until `devnet.oracle.start()`. */
  readonly startsOracle?: boolean;
  /** Time between two polls of the oracle at a head. Default 500. */
  readonly oracleEveryMs?: number;
}
