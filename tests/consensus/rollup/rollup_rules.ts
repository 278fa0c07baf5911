/** Rules of the hub's clients of rollups, by the pure verifiers, with what the hub's storage holds. */
import { consensusClientIds } from "../../../src/core/ismp/consensus_clients.ts";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import { arbitrumConsensusStateCodec } from "../../../src/consensus/clients/arbitrum/spec/consensus_state.ts";
import {
  blacklistedClaimKey,
  rollupCoreKey,
} from "../../../src/consensus/clients/arbitrum/spec/hub_storage.ts";
import {
  claimOf,
  decodeArbitrumState,
  decodeArbitrumUpdate,
  verifyArbitrumUpdate,
} from "../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { opStackConsensusStateCodec } from "../../../src/consensus/clients/op_stack/spec/consensus_state.ts";
import {
  blacklistedGameKey,
  disputeGameRulesCodec,
  disputeGameRulesKey,
  outputOracleKey,
} from "../../../src/consensus/clients/op_stack/spec/hub_storage.ts";
import {
  decodeOpStackState,
  decodeOpStackUpdate,
  verifyOpStackUpdate,
} from "../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { addressCodec } from "../../../src/core/evm/address.ts";
import type { UpdateRules } from "../../support/memory_target.ts";

const opStackRules: UpdateRules = (proof, { state: stored }, target) => {
  const trusted = decodeOpStackState(stored);
  const update = decodeOpStackUpdate(proof);
  const id = trusted.stateMachineId;
  const rules = target.storage.get(toHex(disputeGameRulesKey(id)));
  const oracle = target.storage.get(toHex(outputOracleKey(id)));
  const games = update.proof.tag === "OpFaultProofGames" ? [update.proof.value.proxy] : [];
  const verified = verifyOpStackUpdate(trusted, update, {
    l1StateRoot: target.stateRoot({ id: trusted.l1StateMachineId, height: update.l1Height }),
    disputeGames: rules && disputeGameRulesCodec.dec(rules),
    outputOracle: oracle && addressCodec.dec(oracle),
    blacklistedGames: new Set(
      games.filter((game) => target.storage.has(toHex(blacklistedGameKey(id, game)))),
    ),
  });
  return {
    state: opStackConsensusStateCodec.enc(verified.consensusState),
    commitments: verified.commitment === undefined ? [] : [verified.commitment],
  };
};

const arbitrumRules: UpdateRules = (proof, { state: stored }, target) => {
  const trusted = decodeArbitrumState(stored);
  const update = decodeArbitrumUpdate(proof);
  const id = trusted.stateMachineId;
  const rollup = target.storage.get(toHex(rollupCoreKey(id)));
  const claims = [claimOf(update.proof)];
  const verified = verifyArbitrumUpdate(trusted, update, {
    l1StateRoot: target.stateRoot({ id: trusted.l1StateMachineId, height: update.l1Height }),
    rollupCore: rollup && addressCodec.dec(rollup),
    blacklistedClaims: new Set(
      claims.filter((each) => target.storage.has(toHex(blacklistedClaimKey(id, each)))),
    ),
  });
  return {
    state: arbitrumConsensusStateCodec.enc(verified.consensusState),
    commitments: verified.commitment === undefined ? [] : [verified.commitment],
  };
};

/** Rules of the client by its implementation. */
export const rollupRules: UpdateRules = (proof, client, target) =>
  target.clients.get(client.id)?.clientId === consensusClientIds.opStack
    ? opStackRules(proof, client, target)
    : arbitrumRules(proof, client, target);
