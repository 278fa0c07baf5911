/**
 * A Heimdall node, read over CometBFT's JSON-RPC. Each block is checked against the hash that its validators signed,
 * each set against the hash in a header. Source: 0xPolygon/cometbft: rpc/core/routes.go; polytope-labs/hyperbridge:
 * tesseract/consensus/polygon/src/client.rs.
 */
import * as z from "zod";
import type { EvmEndpointSetDeps } from "../../../core/chains/evm/evm_endpoint_set.ts";
import type { Query } from "../../../core/chains/evm/queries.ts";
import { callOne, faultAt } from "../../../core/chains/evm/rpc_batch.ts";
import { SchemaError } from "../../../core/evm/schema.ts";
import type { EndpointUrl } from "../../../core/config/redact.ts";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { translateCometError } from "../../../core/rpc/cometbft_errors.ts";
import { RpcEndpointSet } from "../../../core/rpc/endpoint_set.ts";
import { type FaultPlace, RpcFault } from "../../../core/rpc/call.ts";
import { HttpEndpoint } from "../../../core/rpc/http.ts";
import type { Json } from "../../../core/rpc/json.ts";
import { hashCometHeader, type HeimdallValidator } from "./spec/comet_header.ts";
import { joinCommitmentProofs } from "./spec/commitment_proof.ts";
import { heimdallAnswers, type HeimdallStatus, type StoreEntry } from "./spec/heimdall_json.ts";
import {
  decodeMilestone,
  type Milestone,
  MILESTONE_COUNT_KEY,
  MILESTONE_STORE,
  milestoneKey,
  readMilestoneCount,
} from "./spec/milestone.ts";
import { PolygonError } from "./spec/polygon_error.ts";
import type { SignedHeimdallHeader } from "./spec/update.ts";
import type { CheckJob, CheckRow } from "../../../core/checks/check_row.ts";
import { about } from "../../../core/checks/check_row.ts";
import type { Clock } from "../../../core/runtime/clock.ts";

/** Validators per page; CometBFT answers with at most 100. */
const PAGE_SIZE = 100;

/** Maximum number of pages: Heimdall has about a hundred validators. */
const MAX_PAGES = 20;

/** A milestone in the state of a block. */
export interface StoredMilestone {
  readonly number: bigint;
  readonly milestone: Milestone;
  /** Its proof, as updates carry it. */
  readonly proof: Uint8Array;
}

/** Location of a node. */
export interface HeimdallNodeOptions {
  readonly stateMachine: StateMachine;
  /** Name of the chain that it must serve. */
  readonly heimdallChain: string;
  readonly url: EndpointUrl;
}

/** Opens a node. Sends no request before the first read. */
export function openHeimdallNode(deps: EvmEndpointSetDeps, options: HeimdallNodeOptions): HeimdallNode {
  const chain = options.stateMachine;
  const endpoint = new HttpEndpoint(deps, {
    url: options.url.reveal(),
    chain,
    translate: translateCometError,
    // The votes of a hundred validators take 40 KB.
    maxResponseBytes: 4_000_000,
  });
  const endpoints = new RpcEndpointSet(deps, {
    chain,
    endpoints: [endpoint],
    identity: {
      call: statusQuery.call,
      isExpected: (json) => heimdallAnswers.status.safeParse(json).data?.chainId === options.heimdallChain,
    },
  });
  return new HeimdallNode(endpoints);
}

/** A node. Every method may throw an `RpcFault`. */
export class HeimdallNode {
  readonly #endpoints: RpcEndpointSet;

  constructor(endpoints: RpcEndpointSet) {
    this.#endpoints = endpoints;
  }

  get host(): string {
    return this.#endpoints.hosts.join(", ");
  }

  /** Fetches what the node says about itself. */
  async fetchStatus(signal: AbortSignal): Promise<HeimdallStatus> {
    return await callOne(this.#endpoints, statusQuery, { signal });
  }

  /** Fetches a block's header with its votes. */
  async fetchSignedHeader(height: bigint, signal: AbortSignal): Promise<SignedHeimdallHeader> {
    return await callOne(this.#endpoints, signedHeaderQuery(height), { signal });
  }

  /** Fetches the validators of a block, also of the one after the newest. */
  async fetchValidators(height: bigint, signal: AbortSignal): Promise<readonly HeimdallValidator[]> {
    const validators: HeimdallValidator[] = [];
    for (let page = 1; page <= MAX_PAGES; page++) {
      const answer = await callOne(
        this.#endpoints,
        queryOf("validators", [`${height}`, `${page}`, `${PAGE_SIZE}`], heimdallAnswers.validators.parse),
        { signal },
      );
      validators.push(...answer.validators);
      if (answer.validators.length === 0 || validators.length >= answer.total) break;
    }
    return validators;
  }

  /** Fetches the newest milestone in the state after a block; `undefined`: there is none yet. */
  async fetchMilestone(height: bigint, signal: AbortSignal): Promise<StoredMilestone | undefined> {
    const number = await this.#fetchEntry(
      { key: MILESTONE_COUNT_KEY, height, isProven: false },
      ({ value }) => value.length === 0 ? undefined : readMilestoneCount(value),
      signal,
    );
    if (number === undefined) return undefined;
    return await this.#fetchEntry(
      { key: milestoneKey(number), height, isProven: true },
      ({ value, proofs }) => ({
        number,
        milestone: decodeMilestone(value),
        proof: joinCommitmentProofs(proofs),
      }),
      signal,
    );
  }

  async #fetchEntry<T>(
    { key, height, isProven }: EntryRequest,
    readEntry: (entry: StoreEntry) => T,
    signal: AbortSignal,
  ): Promise<T> {
    let isAbsent = false;
    const params = [`/store/${MILESTONE_STORE}/key`, bytesToHex(key), `${height}`, isProven];
    const query = queryOf("abci_query", params, (json) => {
      const entry = heimdallAnswers.abci_query.parse(json);
      isAbsent = entry.code !== 0;
      return isAbsent ? undefined : { value: readEntry(entry) };
    });
    const check = (place: FaultPlace): RpcFault | undefined =>
      isAbsent ? faultAt("pruned", place, `no state of block ${height}`) : undefined;
    const found = await callOne(this.#endpoints, query, { signal, check });
    if (found === undefined) throw new Error("An answer without a state was accepted");
    return found.value;
  }
}

/** An entry of the milestones' store, in the state after a block. */
interface EntryRequest {
  readonly key: Uint8Array;
  readonly height: bigint;
  readonly isProven: boolean;
}

/** A call whose answer `parse` reads; a shape or content that does not fit becomes a {@link SchemaError}. */
function queryOf<T>(method: string, params: readonly Json[], parse: (json: Json) => T): Query<T> {
  const read = (json: Json): T => {
    try {
      return parse(json);
    } catch (cause) {
      const isUnfit = cause instanceof z.ZodError || cause instanceof RangeError ||
        cause instanceof PolygonError;
      if (!isUnfit) throw cause;
      const detail = cause instanceof z.ZodError ? cause.issues[0]?.path.join(".") ?? "" : cause.message;
      throw new SchemaError(`${method}: ${detail}`, { cause });
    }
  };
  return { call: { method, params }, read };
}

const statusQuery: Query<HeimdallStatus> = queryOf("status", [], heimdallAnswers.status.parse);

function signedHeaderQuery(height: bigint): Query<SignedHeimdallHeader> {
  return queryOf("commit", [`${height}`], (json) => {
    const signed: SignedHeimdallHeader = heimdallAnswers.commit.parse(json);
    const { header, commit } = signed;
    const isAsked = header.height === height && commit.height === height;
    if (!isAsked) throw new RangeError(`block ${header.height} for ${height}`);
    if (hashCometHeader(header) !== commit.blockId.hash) throw new PolygonError("commit_block");
    return signed;
  });
}

/** Creates the check. */
export function checkHeimdallNode(
  clock: Clock,
  chain: StateMachine,
  node: Pick<HeimdallNode, "host" | "fetchStatus">,
): CheckJob {
  const run = async (signal: AbortSignal): Promise<readonly CheckRow[]> => {
    const { ok, warning } = about(chain, node.host);
    const startMs = clock.now();
    const { chainId, latestHeight, isCatchingUp } = await node.fetchStatus(signal);
    const tookMs = Math.round(clock.now() - startMs);
    const found = `answers in ${tookMs} ms, serves ${chainId} up to block ${latestHeight}`;
    if (!isCatchingUp) return [ok("endpoint", found)];
    return [warning("endpoint", `${found}, and is still syncing`, "wait until the node is in sync")];
  };
  return { chain, check: "endpoint", run };
}
