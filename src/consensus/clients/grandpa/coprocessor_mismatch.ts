/**
 * Detection of a follower's coprocessor by the form in which it stores the hub's newest head, since no chain exposes
 * its coprocessor. Source: docs/protocol/hub-consensus.md section 4.9, rule 9.
 */
import type { TargetReads } from "../../../core/chains/consensus_target.ts";
import { GrandpaError } from "./spec/grandpa_error.ts";
import { type GrandpaConsensusState, messageVariantOf } from "./spec/message.ts";
import { commitmentOf } from "./spec/verify_message.ts";
import { decodeHeadData, parachainHeadKey } from "../../../core/substrate/parachain_heads.ts";
import { decodeSubstrateHeader, type SubstrateHeader } from "../../../core/substrate/header.ts";
import type { StateCommitment } from "../../../core/ismp/state_commitment.ts";
import {
  formatStateMachine,
  type StateMachineId,
  stateMachineParts,
} from "../../../core/ismp/state_machine.ts";
import { ScaleError } from "../../../core/encoding/scale.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { RelayChain, StoredAt } from "../../relay_chain/relay_chain.ts";

/** Dependencies of the check. */
export interface CoprocessorCheckDeps {
  readonly relay: Pick<RelayChain, "fetchStored">;
  readonly target: { readonly reads: Pick<TargetReads, "fetchCommitment"> };
  /** Id under which the target knows the hub. */
  readonly hub: StateMachineId;
}

/**
 * Describes the mismatch in how a chain stores the head that was last proved to it; `undefined`: none, or unknown (no
 * head yet, or the relay chain's node has pruned that block).
 */
export async function findCoprocessorMismatch(
  { relay, target, hub }: CoprocessorCheckDeps,
  trusted: GrandpaConsensusState,
  signal: AbortSignal,
): Promise<string | undefined> {
  const parts = stateMachineParts(hub.stateMachine);
  if (messageVariantOf(trusted.stateMachine) !== "Polkadot") return undefined;
  if (parts.tag !== "Polkadot" && parts.tag !== "Kusama") return undefined;
  const head = await fetchHead(
    relay,
    { key: parachainHeadKey(parts.value), block: trusted.latestHash },
    signal,
  );
  if (head === undefined) return undefined;
  const sibling = parts.tag === "Polkadot" ? "Kusama" as const : "Polkadot" as const;
  const other = formatStateMachine({ tag: sibling, value: parts.value });
  const height = BigInt(head.number);
  const [own, foreign] = await Promise.all([
    target.reads.fetchCommitment({ id: hub, height }, signal),
    target.reads.fetchCommitment({ id: { ...hub, stateMachine: other }, height }, signal),
  ]);
  const advice = "its runtime has another coprocessor, so messages of the hub cannot be proved to it";
  if (own !== undefined && isStoredAsOrdinary(own, head)) {
    return `keeps the hub's heads as those of an ordinary chain: ${advice}`;
  }
  if (own === undefined && foreign !== undefined) {
    return `keeps the hub's heads as those of ${other}: ${advice}`;
  }
  return undefined;
}

/** True for roots stored by the rule for chains that are not the coprocessor, where the rules differ. */
function isStoredAsOrdinary(kept: StateCommitment, head: SubstrateHeader): boolean {
  const isSame = (isHub: boolean): boolean => {
    // The timestamp is ignored here: any slot will do.
    const { overlayRoot, stateRoot } = commitmentOf(head, 1_000n, isHub);
    return kept.overlayRoot === overlayRoot && kept.stateRoot === stateRoot;
  };
  return isSame(false) && !isSame(true);
}

/** Fetches the head that is stored there; `undefined`: none is known. */
async function fetchHead(
  relay: CoprocessorCheckDeps["relay"],
  place: StoredAt,
  signal: AbortSignal,
): Promise<SubstrateHeader | undefined> {
  try {
    const [stored] = await relay.fetchStored([place], signal);
    return stored === undefined ? undefined : decodeSubstrateHeader(decodeHeadData(stored));
  } catch (error) {
    const isUnknown = error instanceof ScaleError || error instanceof GrandpaError ||
      (error instanceof RpcFault && ["pruned", "not_found", "refused"].includes(error.code));
    if (!isUnknown) throw error;
    return undefined;
  }
}
