/**
 * Updates from the `L2OutputOracle` of chains without dispute games. Start reading at {@link Outputs.find}.
 */
import { buildOutputOracleProof, oracleProofSlots } from "./spec/build_update.ts";
import { decodeOutputProposed, OUTPUT_PROPOSED, type OutputProposed } from "./spec/claim_events.ts";
import type { OpStackConsensusState } from "./spec/consensus_state.ts";
import { outputCountSlot } from "./spec/output_root.ts";
import { opStackUpdateCodec } from "./spec/update.ts";
import { decodeOpStackUpdate, verifyOpStackUpdate } from "./spec/verify_update.ts";
import type { L1Range } from "../../rollup/spec/l1_range.ts";
import { RollupDataError } from "../../rollup/spec/rollup_data_error.ts";
import type { Address } from "../../../core/evm/address.ts";
import type { RawLog } from "../../../core/evm/host_events.ts";
import type { EvmReader } from "../../evm_reader.ts";
import { type ClaimScan, ClaimSearch } from "../../rollup/claim_search.ts";
import { type Completeness, scanCompletely } from "../../rollup/complete_scan.ts";
import { badData, type ClaimFinding, findProvable } from "../../rollup/claim_dry_run.ts";
import type { OpStackOptions, RollupDeps } from "../../rollup/rollup_options.ts";
import type { RollupView } from "../../rollup/rollup_prover.ts";
import { fetchClaimedBlock } from "./claimed_block.ts";

type View = RollupView<OpStackConsensusState>;

/** Inputs of one poll. */
interface ClaimPoll {
  readonly view: View;
  readonly oracle: Address;
  /** The L1, pinned to the block that the hub knows. */
  readonly l1: EvmReader;
}

/** The outputs of one rollup. */
export class Outputs {
  readonly #deps: RollupDeps;
  readonly #options: Pick<OpStackOptions, "messageParser">;
  readonly #search = new ClaimSearch<OutputProposed>(({ index }) => index.toString());

  /** Number of the oracle's outputs at the end of the finished ranges. */
  #known: { readonly oracle: Address; readonly count: bigint } | undefined;

  constructor(deps: RollupDeps, options: Pick<OpStackOptions, "messageParser">) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Builds the update for the newest output that can be proved. */
  async find(view: View, oracle: Address, signal: AbortSignal): Promise<ClaimFinding> {
    const poll = { view, oracle, l1: this.#deps.l1.heldTo(view.l1) };
    const range = await this.#search.extend(
      oracle,
      view.l1.height,
      (range) => this.#scan(poll, range, signal),
    );
    for (const output of this.#search.open) {
      if (view.hubHeight !== undefined && output.l2Height <= view.hubHeight) this.#search.settle(output);
    }
    const newestFirst = this.#search.open.toSorted((a, b) => a.index < b.index ? 1 : -1);
    if (newestFirst.length === 0) {
      const where = range === undefined
        ? `up to L1 block ${view.l1.height}`
        : `in L1 blocks ${range.from} to ${range.to}`;
      return { kind: "nothing", reason: `no new output was proposed ${where}` };
    }
    const { l1, l2, log } = this.#deps;
    const describe = ({ index }: OutputProposed): string => `output ${index}`;
    return await findProvable(
      { search: this.#search, l1, l2, log, describe },
      newestFirst,
      (output) => this.#prove(poll, output, signal),
    );
  }

  async #scan(
    { oracle, l1 }: ClaimPoll,
    range: L1Range,
    signal: AbortSignal,
  ): Promise<ClaimScan<OutputProposed>> {
    const known = this.#known?.oracle === oracle ? this.#known.count : undefined;
    let count = 0n;
    const scan = await scanCompletely<OutputProposed>({
      l1,
      log: this.#deps.log,
      range,
      orderOf: ({ index }) => index,
      keyOf: ({ index }) => index.toString(),
      fetch: async (reader) => {
        const logs = await reader.fetchLogs({ address: oracle, topics: [OUTPUT_PROPOSED] }, range, signal);
        return this.#decode(logs, oracle);
      },
      judge: async (found) => {
        const slot = outputCountSlot;
        const [word] = await l1.fetchReads([{ kind: "word", account: oracle, slot, at: range.to }], signal);
        count = BigInt(word ?? 0n);
        return judgeOutputs(found, { known, count });
      },
    });
    // Where the number could not be read, the next outputs follow the newest one in the logs.
    const newest = scan.claims.at(-1)?.index;
    if (count === 0n && newest !== undefined) count = newest + 1n;
    if (scan.isFinal && count > 0n) this.#known = { oracle, count };
    return scan;
  }

  #decode(logs: readonly RawLog[], oracle: Address): readonly OutputProposed[] {
    try {
      return logs.flatMap((entry) => decodeOutputProposed(entry, oracle) ?? []);
    } catch (cause) {
      if (!(cause instanceof RollupDataError)) throw cause;
      throw badData(this.#deps.l1, "a log of the output oracle does not match its ABI", cause);
    }
  }

  async #prove(
    { view, oracle }: ClaimPoll,
    output: OutputProposed,
    signal: AbortSignal,
  ): Promise<Extract<ClaimFinding, { kind: "claim" }>> {
    const requests = [{ account: oracle, slots: oracleProofSlots(output) }];
    const [answer] = await this.#deps.l1.fetchProofs(requests, view.l1, signal);
    if (answer === undefined) throw new Error("A proof is missing");
    const rollup = { l2: this.#deps.l2, messageParser: this.#options.messageParser };
    const block = await fetchClaimedBlock(rollup, output, signal);
    const value = buildOutputOracleProof({ ...block, output, oracle: answer });
    const proof = opStackUpdateCodec.enc({ l1Height: view.l1.height, proof: { tag: "OpL2Oracle", value } });
    verifyOpStackUpdate(view.state, decodeOpStackUpdate(proof), {
      l1StateRoot: view.l1.stateRoot,
      disputeGames: undefined,
      outputOracle: oracle,
      blacklistedGames: new Set(),
    });
    const summary = `block ${output.l2Height} by output ${output.index} at L1 block ${view.l1.height}`;
    return { kind: "claim", proof, height: output.l2Height, summary };
  }
}

/** Judges completeness. Outputs are an array: the ones found must reach from the known ones to its end. */
function judgeOutputs(
  found: readonly OutputProposed[],
  { known, count }: { readonly known: bigint | undefined; readonly count: bigint },
): Completeness {
  const first = known ?? found[0]?.index;
  // An oracle with another storage layout has none here; one whose outputs were deleted has fewer.
  if (count === 0n || first === undefined || first > count) return "unknown";
  const distinct = new Set(found.map(({ index }) => index).filter((index) => index >= first));
  return count - first <= BigInt(distinct.size) ? "complete" : "incomplete";
}
