/** Light client of BSC-type chains, as the registry lists it. */
import { recover } from "../../../core/encoding/coded_error.ts";
import { mapError } from "../../spec/client_error.ts";
import { checkEvmEndpoints } from "../../checks/evm_endpoints.ts";
import { type ChainClient, toProverOptions } from "../../client.ts";
import { type BscHeaders, findBscUpdate, type SearchResult } from "./find_update.ts";
import {
  BscError,
  type BscNetwork,
  epochBlock,
  epochOfBlock,
  ExtraDataError,
  findBscNetwork,
  parseExtraData,
} from "./spec/extra_data.ts";
import { type BscPlan, isChainable, MAX_CHAINED_UPDATES, planBscUpdate } from "./spec/plan_update.ts";
import {
  type BscConsensusState,
  bscConsensusStateCodec,
  type BscUpdate,
  bscUpdateCodec,
  epochLengthCodec,
  epochLengthKey,
  initialBscState,
} from "./spec/update.ts";
import { decodeBscState } from "./spec/verify_update.ts";
import { frequencyKey } from "../../config/keys.ts";
import { checkChainIds, fetchEvmHeader, openEvmReader } from "../../evm_reader.ts";
import {
  BaseProver,
  type ConsensusProver,
  type InitialConsensusState,
  type ProverFinding,
  type ProverOptions,
  usualPeriods,
} from "../../prover.ts";
import { type ClientState, TargetClient, UNTIL_FINAL } from "../../target_client.ts";
import type { ConsensusTarget } from "../../../core/chains/consensus_target.ts";
import { about, type CheckRow } from "../../../core/checks/check_row.ts";
import { withDefault } from "../../../core/config/schema.ts";
import { integer, UINT32_MAX } from "../../../core/config/values.ts";
import { decodeStrict } from "../../../core/encoding/scale.ts";
import type { EvmBlockHeader } from "../../../core/evm/block_header.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import { evmChainId } from "../../../core/ismp/state_machine.ts";

/** Values of the host section. */
interface BscHost {
  readonly consensusUpdateFrequencySec: number;
  readonly epochLength: number;
}

/** `type = "bsc"`: votes in the chain's own headers. */
export const bscClient: ChainClient<BscHost> = {
  knownChains: [56, 97],
  isClosed: true,
  networks: { bsc_testnet: 97 },
  host: {
    description: "Of type `bsc`: votes in the chain's own headers.",
    keys: {
      consensusUpdateFrequencySec: frequencyKey(),
      /** polytope-labs/hyperbridge: tesseract/consensus/bsc, `epoch_length`. */
      epochLength: withDefault("epoch_length", integer(1, UINT32_MAX, "blocks"), 1_000, {
        description: "Length of an epoch.",
      }),
    },
  },
  createChecks: (deps, { stateMachine: chain, rpcUrls: urls }) => checkEvmEndpoints(deps, { chain, urls }),
  createProver: (context, section) => {
    const { stateMachine, rpcUrls, host } = section;
    const headers = openEvmReader(context, { stateMachine, urls: rpcUrls });
    const options = { ...toProverOptions(section), epochLength: BigInt(host.epochLength) };
    return new BscProver({ hub: context.hub, headers }, options);
  },
};

/** Dependencies of the prover. */
export interface BscProverDeps {
  readonly hub: ConsensusTarget;
  readonly headers: BscHeaders;
}

/** Configured options. */
interface BscProverOptions extends ProverOptions {
  /** Blocks of an epoch; the hub's own value takes precedence. */
  readonly epochLength: bigint;
}

/** Block time, milliseconds: BSC since Fermi. Where blocks are slower, polls are more than enough. */
const USUAL_BLOCK_MS = 450;

/** Polls per epoch: an announced set must be staged and enacted within its epoch. */
const POLLS_PER_EPOCH = 10;

/** State of the hub's client. */
interface TrustedState extends ClientState<BscConsensusState> {
  readonly epochLength: bigint;
}

/** Proves a `bsc` chain. */
export class BscProver extends BaseProver<BscProverOptions> implements ConsensusProver {
  readonly #deps: BscProverDeps;
  readonly #network: BscNetwork;
  /** Blocks of an epoch, as last read; `undefined` before the first poll. */
  #epochLength: bigint | undefined;
  /** Blocks of a turn in the epoch that was read last. */
  #turn: { readonly epoch: bigint; readonly blocks: number | undefined } | undefined;
  readonly #client: TargetClient<BscConsensusState>;

  /** @throws {RangeError} for a chain that the hub's client was not built for. */
  constructor(deps: BscProverDeps, options: BscProverOptions) {
    super(options);
    const network = findBscNetwork(evmChainId(this.chain));
    if (network === undefined) {
      throw new RangeError(`${this.chain}: the hub's BSC client knows EVM-56 and EVM-97 only`);
    }
    this.#deps = deps;
    this.#network = network;
    const clientId = consensusClientIds.bsc;
    this.#client = new TargetClient(deps.hub, options, { clientId, decode: decodeBscState });
  }

  /** Poll interval: rotations are polled for more often than advances are due. */
  override get intervalMs(): number {
    if (this.#epochLength === undefined) return this.options.intervalMs;
    const epochMs = Number(this.#epochLength) * USUAL_BLOCK_MS;
    return Math.min(this.options.intervalMs, epochMs / POLLS_PER_EPOCH);
  }

  async check(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const { headers } = this.#deps;
    const ofChain = checkChainIds(headers, { chain: this.chain, key: "rpc_urls" }, signal);
    return (await Promise.all([ofChain, this.checkHub(signal)])).flat();
  }

  async checkHub(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const epochLength = await this.#fetchEpochLength(signal);
    if (epochLength === undefined || epochLength === this.options.epochLength) return [];
    const found = `epoch_length is ${this.options.epochLength} in the configuration, but ` +
      `${epochLength} on the hub; the hub's value is used`;
    return [about(this.chain).warning("epoch_length_mismatch", found)];
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const trusted = await this.#fetchTrusted(signal);
    if (trusted === undefined) return UNTIL_FINAL;
    const head = await fetchEvmHeader(this.#deps.headers, "latest", signal);
    this.#epochLength = trusted.epochLength;
    return await this.#collect(trusted, head, signal);
  }

  async fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState> {
    const epochLength = await this.#fetchEpochLength(signal) ?? this.options.epochLength;
    const head = await fetchEvmHeader(this.#deps.headers, "latest", signal);
    const first = epochBlock(epochOfBlock(head.number, epochLength), epochLength);
    const epochHeader = await fetchEvmHeader(this.#deps.headers, first, signal);
    return {
      clientId: consensusClientIds.bsc,
      state: bscConsensusStateCodec.enc(this.#initialState(epochHeader, epochLength)),
      ...usualPeriods(this.chain),
      commitments: [],
    };
  }

  #initialState(epochHeader: EvmBlockHeader, epochLength: bigint): BscConsensusState {
    return mapError(BscError, () => initialBscState(this.#network, epochHeader, epochLength), (cause) => {
      const detail =
        `block ${epochHeader.number} announces no validators: epoch_length = ${epochLength} is not ` +
        "that of the chain";
      return this.fault("bad_data", detail, { cause });
    });
  }

  async #fetchEpochLength(signal: AbortSignal): Promise<bigint | undefined> {
    const [stored] = await this.#deps.hub.reads.fetchStorage([epochLengthKey()], signal);
    return stored === undefined ? undefined : decodeStrict(epochLengthCodec, stored, "epoch length");
  }

  /** Fetches the client's state; `undefined` while it is not final. */
  async #fetchTrusted(signal: AbortSignal): Promise<TrustedState | undefined> {
    const [client, epochLength] = await Promise.all([
      this.#client.fetchFinal(signal),
      this.#fetchEpochLength(signal),
    ]);
    if (client === undefined) return undefined;
    if (epochLength === undefined || epochLength === 0n) {
      throw this.#client.fault("the hub has no epoch length for BSC and refuses every update");
    }
    return { ...client, epochLength };
  }

  /** Consecutive blocks of one validator in an epoch; `undefined` where its first header does not contain it. */
  async #fetchTurnLength(
    epoch: bigint,
    epochLength: bigint,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    if (this.#turn?.epoch !== epoch) {
      const header = await fetchEvmHeader(this.#deps.headers, epochBlock(epoch, epochLength), signal);
      this.#turn = { epoch, blocks: readTurnLength(this.#network, header) };
    }
    return this.#turn.blocks;
  }

  /** Collects successive updates on a copy of the state, as many as fit into an extrinsic. */
  async #collect(trusted: TrustedState, head: EvmBlockHeader, signal: AbortSignal): Promise<ProverFinding> {
    const { epochLength } = trusted;
    const hub = { network: this.#network, epochLength, consensusStateId: this.consensusStateId };
    const context = { headers: this.#deps.headers, hub };
    const updates: BscUpdate[] = [];
    let { state } = trusted;
    let said = "";
    while (updates.length < MAX_CHAINED_UPDATES) {
      const turnLength = await this.#fetchTurnLength(state.currentEpoch, epochLength, signal);
      const plan = planBscUpdate(state, { head: head.number, epochLength, turnLength });
      if (plan.action !== "search") {
        if (updates.length > 0) break;
        return this.#idle(plan);
      }
      const dueInMs = this.options.intervalMs - trusted.ageMs;
      if (plan.purpose === "advance" && updates.length === 0 && dueInMs > 0) {
        return this.early(dueInMs, "advance");
      }
      const result = await findBscUpdate(context, { trusted: state, wanted: plan }, signal);
      if (result.kind === "none") {
        if (updates.length > 0) break;
        return this.#foundNothing(result);
      }
      updates.push(result.update);
      state = result.verified.consensusState;
      said = describe(state);
      if (!isChainable(plan)) break;
    }
    return {
      kind: "updates",
      proofs: updates.map((update) => bscUpdateCodec.enc(update)),
      madeOn: trusted.bytes,
      height: state.finalizedHeight,
      summary: said,
      hasMore: updates.length === MAX_CHAINED_UPDATES,
    };
  }

  #idle(plan: Exclude<BscPlan, { action: "search" }>): ProverFinding {
    if (plan.action === "unrecoverable") {
      const detail =
        `no update can advance the client on the hub (${unrecoverableTexts[plan.reason]}): the hub's ` +
        "governance must give it a new state (log-consensus-state prints it)";
      throw this.#client.fault(detail);
    }
    return { kind: "nothing", reason: waitTexts[plan.reason] };
  }

  #foundNothing({ reason, refused }: Extract<SearchResult, { kind: "none" }>): ProverFinding {
    const [first] = refused;
    if (first !== undefined) {
      const { hosts } = this.#deps.headers;
      const isOne = hosts.length === 1;
      const who = isOne ? "the endpoint" : `an endpoint (one of ${hosts.join(", ")})`;
      const detail = `votes and headers do not match (${first.code}): ${who} serves another chain ` +
        "or invalid data; compare it with another one";
      throw this.fault("bad_data", detail, { endpoint: isOne ? hosts[0] : undefined, cause: first });
    }
    const why = reason === undefined ? "" : ` (the last one: ${reason})`;
    return { kind: "nothing", reason: `no block has votes that the hub accepts${why}` };
  }
}

function describe({ finalizedHeight, currentEpoch, nextValidators }: BscConsensusState): string {
  const staged = nextValidators === undefined
    ? ""
    : `, next set of ${nextValidators.validators.length} validators`;
  return `finalized block ${finalizedHeight}, validators of epoch ${currentEpoch}${staged}`;
}

const waitTexts = {
  no_new_block: "no newer block has usable votes",
  node_behind: "the node is behind the hub",
  rotation_not_reached: "the next validator set does not sign yet",
} as const;

const unrecoverableTexts = {
  enactment_missed: "the epoch in which the next validators could be enacted is over",
  staging_missed: "the epoch that announces the next validators is over",
  epochs_skipped: "it is two epochs ahead of its validators",
} as const;

function readTurnLength(network: BscNetwork, header: EvmBlockHeader): number | undefined {
  const read = (): number => parseExtraData(network, header).announcement?.turnLength ?? 1;
  return recover(ExtraDataError, read, () => undefined);
}
