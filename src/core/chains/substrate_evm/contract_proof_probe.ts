/** Tries what the Substrate node of a chain proves of its contracts, for start and checks. */
import type { CheckRow } from "../../checks/check_row.ts";
import { fromHex } from "../../encoding/bytes.ts";
import { RpcFault } from "../../rpc/fault.ts";
import type { Clock } from "../../runtime/clock.ts";
import { DeadlineFault, withDeadline } from "../../runtime/retry.ts";
import { CONSEQUENCE, PROBED_SLOT, type ProbedBlock, type ProofProbe } from "../evm/proof_checks.ts";
import type { SlotProver } from "../evm/slot_prover.ts";
import { UnprovableKeyError } from "../proofs.ts";

const ADVICE = "use an archive node (--state-pruning=archive) at ws_url";

/** Where proofs come from. */
export interface ProvingNode {
  readonly clock: Clock;
  /** State machine of the chain. */
  readonly chain: string;
  /** Host and port of the Substrate node. */
  readonly endpointHost: string;
  readonly prover: SlotProver;
}

/** Probe of a node that proves contracts. */
export class ContractProofProbe implements ProofProbe {
  readonly #node: ProvingNode;

  constructor(node: ProvingNode) {
    this.#node = node;
  }

  async describe(block: ProbedBlock, signal: AbortSignal): Promise<readonly CheckRow[]> {
    const { chain, endpointHost: endpoint, prover: { method } } = this.#node;
    const failure = await this.#findFailure(block, signal);
    if (failure === "unreachable") return [];
    const row = { chain, endpoint, check: "state_proof" } as const;
    const what = `${method} of block ${block.height}, the newest that the hub knows`;
    if (failure === undefined) return [{ ...row, result: "ok", found: what }];
    const found = `no ${what} (${failure}); ${CONSEQUENCE}`;
    return [{ ...row, result: "failed", found, advice: ADVICE }];
  }

  async findProblem(block: ProbedBlock, signal: AbortSignal): Promise<string | undefined> {
    const failure = await this.#findFailure(block, signal);
    if (failure === undefined) return undefined;
    const { chain, endpointHost, prover: { method } } = this.#node;
    const missing =
      `no ${method} of block ${block.height}, the newest that the hub knows, at ${endpointHost}`;
    return `${chain}: ${missing} (${failure}); ${CONSEQUENCE}; ${ADVICE}`;
  }

  /** Why the node does not prove the host's state, if it does not. */
  async #findFailure({ height, timeoutMs }: ProbedBlock, signal: AbortSignal): Promise<string | undefined> {
    const deadline = { what: `a proof of block ${height}`, afterMs: timeoutMs, signal };
    try {
      await withDeadline(
        this.#node.clock,
        deadline,
        (inner) => this.#node.prover.prove({ keys: [fromHex(PROBED_SLOT)], height }, inner),
      );
      return undefined;
    } catch (error) {
      // Before the host was deployed there is nothing to prove, and the proof shows it.
      if (error instanceof UnprovableKeyError) return undefined;
      if (error instanceof DeadlineFault) return "timeout";
      if (!(error instanceof RpcFault)) throw error;
      return error.code === "malformed" ? error.detail ?? error.code : error.code;
    }
  }
}
