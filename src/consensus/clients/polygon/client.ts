/** Light client of Polygon, as the registry lists it. */
import { evmCommitment } from "../../spec/header_commitment.ts";
import { checkEvmEndpoints } from "../../checks/evm_endpoints.ts";
import { type ChainClient, toProverOptions } from "../../client.ts";
import { collectUpdates, type HeimdallHead, type UpdateChain } from "./find_update.ts";
import { checkHeimdallNode, type HeimdallNode, openHeimdallNode } from "./heimdall_node.ts";
import { hashCometHeader, hashValidators, parseCometTime } from "./spec/comet_header.ts";
import {
  DEFAULT_TRUST,
  findPolygonNetwork,
  POLYGON_CHALLENGE_SEC,
  POLYGON_UNBONDING_SEC,
  type PolygonConsensusState,
  polygonConsensusStateCodec,
  type PolygonNetwork,
  polygonUpdateCodec,
} from "./spec/update.ts";
import { decodePolygonState } from "./spec/verify_update.ts";
import { frequencyKey } from "../../config/keys.ts";
import { checkChainIds, type EvmReader, openEvmReader } from "../../evm_reader.ts";
import {
  BaseProver,
  type ConsensusProver,
  type InitialConsensusState,
  type ProverFinding,
  type ProverOptions,
} from "../../prover.ts";
import { type ClientState, TargetClient, UNTIL_FINAL } from "../../target_client.ts";
import type { ConsensusTarget } from "../../../core/chains/consensus_target.ts";
import { about, type CheckRow } from "../../../core/checks/check_row.ts";
import { required, type SectionValues, withDefault } from "../../../core/config/schema.ts";
import { boolean, httpUrl } from "../../../core/config/values.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import { evmChainId, type StateMachine } from "../../../core/ismp/state_machine.ts";
import { onFault } from "../../../core/rpc/call.ts";

/** polytope-labs/hyperbridge: tesseract/consensus/polygon/src/lib.rs, `HostConfig`. */
const hostKeys = {
  heimdallRpcUrl: required("heimdall_rpc_url", httpUrl, {
    description:
      "A node of Heimdall v2 (CometBFT's JSON-RPC). One that keeps old blocks can catch up on days.",
    example: "https://heimdall.example.org",
  }),
  consensusUpdateFrequencySec: frequencyKey(30),
  disable: withDefault("disable", boolean, false, {
    description: "Proves nothing of the chain, which then only receives.",
  }),
};

/** `type = "polygon"`: milestones in the state of Heimdall. */
export const polygonClient: ChainClient<SectionValues<typeof hostKeys>> = {
  knownChains: [137, 80002],
  isClosed: true,
  networks: {},
  host: {
    description: "Of type `polygon`: milestones of Heimdall, which make blocks of the chain final.",
    keys: hostKeys,
  },
  nodeKeys: ["heimdall_rpc_url"],
  isSwitchedOff: ({ disable }) => disable,
  createChecks: (deps, { stateMachine: chain, rpcUrls: urls, host }) => {
    const { heimdallChain } = networkOf(chain);
    const node = openHeimdallNode(deps, { stateMachine: chain, heimdallChain, url: host.heimdallRpcUrl });
    return [...checkEvmEndpoints(deps, { chain, urls }), checkHeimdallNode(deps.clock, chain, node)];
  },
  createProver: (context, section) => {
    const { stateMachine, rpcUrls, host } = section;
    const { heimdallChain } = networkOf(stateMachine);
    const node = openHeimdallNode(context, { stateMachine, heimdallChain, url: host.heimdallRpcUrl });
    const bor = openEvmReader(context, { stateMachine, urls: rpcUrls });
    return new PolygonProver({ hub: context.hub, node, bor }, toProverOptions(section));
  },
};

/** @throws {RangeError} for a chain that the hub's client was not built for. */
function networkOf(chain: StateMachine): PolygonNetwork {
  const network = findPolygonNetwork(evmChainId(chain));
  if (network !== undefined) return network;
  throw new RangeError(`${chain}: the hub's Polygon client knows EVM-137 and EVM-80002 only`);
}

/** Dependencies of the prover. */
export interface PolygonProverDeps {
  readonly hub: ConsensusTarget;
  readonly node: HeimdallNode;
  readonly bor: Pick<EvmReader, "chain" | "fetchHeader" | "fetchChainIds">;
}

/** State of the hub's client. */
type TrustedState = ClientState<PolygonConsensusState>;

/** Proves a `polygon` chain. */
export class PolygonProver extends BaseProver implements ConsensusProver {
  readonly #deps: PolygonProverDeps;
  readonly #network: PolygonNetwork;
  readonly #client: TargetClient<PolygonConsensusState>;

  /** @throws {RangeError} for a chain that the hub's client was not built for. */
  constructor(deps: PolygonProverDeps, options: ProverOptions) {
    super(options);
    this.#deps = deps;
    this.#network = networkOf(this.chain);
    const clientId = consensusClientIds.polygon;
    this.#client = new TargetClient(deps.hub, options, { clientId, decode: decodePolygonState });
  }

  async check(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const { bor, node } = this.#deps;
    const ofBor = checkChainIds(bor, { chain: this.chain, key: "rpc_urls" }, signal);
    const [rows, heimdall] = await Promise.all([ofBor, this.#isOfNetwork(signal)]);
    if (heimdall) return rows;
    const found = `does not serve ${this.#network.heimdallChain}`;
    return [...rows, about(this.chain, node.host).failed("endpoint", found, "fix heimdall_rpc_url")];
  }

  /** Nothing beside the light client, which has a row of its own. */
  checkHub(): Promise<readonly CheckRow[]> {
    return Promise.resolve([]);
  }

  /** False when the node serves another chain; what does not answer is reported when it is needed. */
  async #isOfNetwork(signal: AbortSignal): Promise<boolean> {
    return await this.#deps.node.fetchStatus(signal)
      .then(() => true, onFault(({ code }) => code !== "wrong_chain"));
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const trusted = await this.#client.fetchFinal(signal);
    if (trusted === undefined) return UNTIL_FINAL;
    this.#requireTrust(trusted);
    const { node, bor } = this.#deps;
    const status = await node.fetchStatus(signal);
    if (status.isCatchingUp) {
      return {
        kind: "nothing",
        reason: `the Heimdall node is still syncing, at block ${status.latestHeight}`,
      };
    }
    const head = await this.#fetchHead(status.latestHeight, signal);
    const hub = { nowSec: trusted.nowSec, consensusStateId: this.consensusStateId };
    const place = { chain: this.chain, node, bor, hub };
    const isBehind = head.signed.header.validatorsHash !== trusted.state.heimdall.nextValidatorsHash;
    const dueInMs = this.intervalMs - trusted.ageMs;
    if (!isBehind && dueInMs > 0) return this.early(dueInMs, "update");
    const found = await collectUpdates(place, { trusted: trusted.state, head }, signal);
    return this.#toFinding(trusted, found);
  }

  async fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState> {
    const { node, bor } = this.#deps;
    const { latestHeight } = await node.fetchStatus(signal);
    const [{ signed: { header }, milestone }, validators, nextValidators] = await Promise.all([
      this.#fetchHead(latestHeight, signal),
      node.fetchValidators(latestHeight, signal),
      node.fetchValidators(latestHeight + 1n, signal),
    ]);
    if (milestone === undefined) throw this.fault("not_served", "Heimdall has no milestone yet");
    const areOfHeader = hashValidators(validators) === header.validatorsHash &&
      hashValidators(nextValidators) === header.nextValidatorsHash;
    if (!areOfHeader) {
      const detail = `its validators are not those of block ${latestHeight}`;
      throw this.fault("bad_data", detail, { endpoint: node.host });
    }
    const found = await bor.fetchHeader(milestone.milestone.hash, signal);
    if (found === undefined) {
      throw this.fault("not_served", `no endpoint of rpc_urls has block ${milestone.milestone.endBlock}`);
    }
    const state: PolygonConsensusState = {
      heimdall: {
        chainId: this.#network.heimdallChain,
        height: latestHeight,
        timestampSec: parseCometTime(header.time).seconds,
        finalizedHeaderHash: hashCometHeader(header),
        validators,
        nextValidators,
        nextValidatorsHash: header.nextValidatorsHash,
        trustingPeriodSec: POLYGON_UNBONDING_SEC,
        options: DEFAULT_TRUST,
      },
      finalizedBlock: milestone.milestone.endBlock,
      finalizedHash: milestone.milestone.hash,
      chainId: this.#network.chainId,
    };
    return {
      clientId: consensusClientIds.polygon,
      state: polygonConsensusStateCodec.enc(state),
      unbondingSec: POLYGON_UNBONDING_SEC,
      challengePeriods: new Map([[this.chain, POLYGON_CHALLENGE_SEC]]),
      commitments: [evmCommitment(this.commitmentId, found.header)],
    };
  }

  /** Fetches the newest block, and the milestone in the state that its header names: that after the block before. */
  async #fetchHead(height: bigint, signal: AbortSignal): Promise<HeimdallHead> {
    const { node } = this.#deps;
    const [signed, milestone] = await Promise.all([
      node.fetchSignedHeader(height, signal),
      node.fetchMilestone(height - 1n, signal),
    ]);
    return { signed, milestone };
  }

  /** @throws {ProverFault} `expired` when the header that the client trusts is too old for any update. */
  #requireTrust({ state: { heimdall }, nowSec }: TrustedState): void {
    const { height, timestampSec, trustingPeriodSec } = heimdall;
    const ageSec = nowSec - timestampSec;
    if (ageSec < trustingPeriodSec) return;
    const detail =
      `client ${this.consensusStateId} of the hub has expired: Heimdall block ${height}, which it ` +
      `trusts, is ${ageSec} s old and ${trustingPeriodSec} s are allowed; no relayer can update it, the hub's ` +
      "governance must give it a new state (log-consensus-state prints it)";
    throw this.fault("expired", detail);
  }

  #toFinding(
    trusted: TrustedState,
    { updates, state, milestone, hasMore, reason }: UpdateChain,
  ): ProverFinding {
    if (reason !== undefined && updates.length === 0) return { kind: "nothing", reason };
    return {
      kind: "updates",
      proofs: updates.map((update) => polygonUpdateCodec.enc(update)),
      madeOn: trusted.bytes,
      height: milestone && state.finalizedBlock,
      summary: milestone === undefined
        ? `Heimdall block ${state.heimdall.height}, for the trust in its validators`
        : `milestone ${milestone.number} in Heimdall block ${state.heimdall.height}`,
      hasMore,
    };
  }
}
