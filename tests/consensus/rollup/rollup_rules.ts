/** Rules of the hub's clients of rollups with what its storage holds: for OP stack chains those of the simulated hub. */
import { consensusClientIds } from "../../../src/core/ismp/consensus_clients.ts";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import {
  arbitrumConsensusStateCodec,
  blacklistedClaimKey,
  rollupCoreKey,
} from "../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  claimOf,
  decodeArbitrumState,
  decodeArbitrumUpdate,
  verifyArbitrumUpdate,
} from "../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import {
  blacklistedGameKey,
  decodeGameRules,
  disputeGameRulesKey,
  outputOracleKey,
} from "../../../src/consensus/clients/op_stack/spec/update.ts";
import { checkOpStackUpdate } from "../../../devnet/hub/verifiers/op_stack/op_stack_client.ts";
import { addressCodec } from "../../../src/core/evm/address.ts";
import type { UpdateRules } from "../../support/memory_target.ts";

const opStackRules: UpdateRules = (proof, { state: stored }, target) => {
  const find = (key: Uint8Array): Uint8Array | undefined => target.storage.get(toHex(key));
  const { state, commitment } = checkOpStackUpdate(stored, proof, {
    stateRoot: (at) => target.stateRoot(at),
    rules: (id) => {
      const rules = find(disputeGameRulesKey(id));
      return rules && decodeGameRules(rules);
    },
    oracle: (id) => {
      const oracle = find(outputOracleKey(id));
      return oracle && addressCodec.dec(oracle);
    },
    isBlacklisted: (id, proxy) => find(blacklistedGameKey(id, proxy)) !== undefined,
  });
  return { state, commitments: commitment === undefined ? [] : [commitment] };
};

const arbitrumRules: UpdateRules = (proof, { state: stored }, target) => {
  const trusted = decodeArbitrumState(stored);
  const update = decodeArbitrumUpdate(proof);
  const id = trusted.stateMachineId;
  const rollup = target.storage.get(toHex(rollupCoreKey(id)));
  const claim = claimOf(update.proof);
  const verified = verifyArbitrumUpdate(trusted, update, {
    l1StateRoot: target.stateRoot({ id: trusted.l1StateMachineId, height: update.l1Height }),
    rollupCore: rollup && addressCodec.dec(rollup),
    blacklistedClaims: new Set(target.storage.has(toHex(blacklistedClaimKey(id, claim))) ? [claim] : []),
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
