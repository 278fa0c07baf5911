/**
 * Checks of the consensus configuration that involve several values: chain ids against types, ids of rollups against
 * those of their L1s, watched chains against the configured ones.
 */
import { findRollupClient } from "../rollup/spec/rollup_client.ts";
import {
  type ConsensusStateId,
  evmStateMachine,
  type StateMachine,
  stateMachineIdKey,
} from "../../core/ismp/state_machine.ts";
import type { KnownSection } from "../../core/config/chain_checks.ts";
import type { UpdateLimit } from "./keys.ts";
import type { SourceLocation } from "../../core/config/diagnostics.ts";

/** Checks that a `type` that is for some chains only is used for one of them. @param chainIds `undefined`: for all */
export function checkChainOfType(
  { location, stateMachine }: KnownSection,
  type: string,
  chainIds: readonly number[] | undefined,
): void {
  const expected = chainIds?.map(evmStateMachine) ?? [];
  if (expected.length === 0 || stateMachine === undefined || expected.includes(stateMachine)) return;
  location.child("state_machine").problem(
    `"${stateMachine}", which is not a chain of type "${type}"`,
    expected.map((name) => `"${name}"`).join(" or "),
  );
}

/** L1 of a rollup's section, as far as it is known. */
export interface KnownL1 {
  readonly host: SourceLocation;
  readonly stateMachine: StateMachine | undefined;
  readonly consensusStateId: ConsensusStateId | undefined;
}

/**
 * Resolves the id of a rollup's own client. Files may name the L1's instead, under which the heights are stored: then
 * it is replaced by the known id of the chain's client. Source: docs/protocol/evm-consensus.md section 3. @returns
 * `undefined` when it is missing, or unknown (which is reported).
 */
export function ownRollupId(rollup: KnownSection, l1: KnownL1): ConsensusStateId | undefined {
  const { location, stateMachine, consensusStateId } = rollup;
  if (stateMachine !== undefined && stateMachine === l1.stateMachine) {
    l1.host.child("l1_state_machine").problem(`"${stateMachine}", the rollup itself`, "its L1");
  }
  if (stateMachine === undefined || consensusStateId === undefined || l1.consensusStateId === undefined) {
    return consensusStateId;
  }
  if (consensusStateId !== l1.consensusStateId) return consensusStateId;
  const known = findRollupClient({ stateMachine, consensusStateId }, l1.consensusStateId, undefined);
  const at = location.child("consensus_state_id");
  if (known === undefined) {
    at.problem(`"${consensusStateId}", the L1's`, "the id of the rollup's own client on the hub");
    return undefined;
  }
  at.applies("consensus_state_id", { value: known, isDerived: true });
  at.warning(`"${consensusStateId}", the L1's`, `"${known}", the rollup's own`, `"${known}" is used`);
  return known;
}

/** Warns of watched chains that never get updates under that id. */
export function checkLimits(
  limits: readonly UpdateLimit[],
  listing: SourceLocation,
  known: { readonly hub: StateMachine | undefined; readonly chains: readonly KnownSection[] },
): void {
  const isComplete = known.chains.every(({ stateMachine }) => stateMachine !== undefined);
  for (const { id } of limits) {
    const shown = `"${stateMachineIdKey(id)}"`;
    const chain = known.chains.find(({ stateMachine }) => stateMachine === id.stateMachine);
    const consensusStateId = chain?.consensusStateId ?? id.consensusStateId;
    if (id.stateMachine === known.hub) {
      listing.warning(`${shown}, the hub`, "chains other than the hub", "it is not watched");
    } else if (chain === undefined && isComplete) {
      listing.warning(
        `${shown}, a chain without a section in this file`,
        "configured chains",
        "it is watched",
      );
    } else if (consensusStateId !== id.consensusStateId) {
      const stored = stateMachineIdKey({ ...id, consensusStateId });
      listing.warning(shown, `"${stored}", under which its heights are stored`);
    }
  }
}

/** Notes that the updates of a rollup's L1 that is not in the file must come from another relayer. */
export function noteUnconfiguredL1(l1: KnownL1, chains: readonly KnownSection[]): void {
  const named = chains.map(({ stateMachine }) => stateMachine);
  if (l1.stateMachine === undefined || named.includes(l1.stateMachine) || named.includes(undefined)) return;
  const found = `"${l1.stateMachine}" has no section: the hub must get its updates from another relayer`;
  l1.host.child("l1_state_machine").report({ kind: "note", found });
}
