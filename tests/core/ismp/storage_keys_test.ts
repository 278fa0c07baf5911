import { deepStrictEqual as equal } from "node:assert/strict";
import hub from "../../vectors/hub-scale.json" with { type: "json" };
import { fromHex, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  bandwidthKeys,
  beefyProofsKeys,
  childTrieKey,
  childTrieKeys,
  hostExecutiveKeys,
  ismpKeys,
  mmrKeys,
  offchainKeys,
  otherKeys,
  relayerKeys,
} from "../../../src/core/ismp/storage_keys.ts";
import { evmStateMachine, toConsensusStateId } from "../../../src/core/ismp/state_machine.ts";

const eth0 = toConsensusStateId("ETH0");
const evm1 = evmStateMachine(1);
const evm56 = evmStateMachine(56);
const id = { stateMachine: evm1, consensusStateId: eth0 };
const commitment = toHash256("33".repeat(32));
const address = fromHex("0x0102030405060708090a0b0c0d0e0f1011121314");
const account = fromHex("0x0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20");

/** Each key of the vector file with the call that makes it. */
const made: Record<string, Uint8Array> = {
  "storage.Ismp.ConsensusStates": ismpKeys.consensusStates(eth0),
  "storage.Ismp.ConsensusStateClient": ismpKeys.consensusStateClient(eth0),
  "storage.Ismp.UnbondingPeriod": ismpKeys.unbondingPeriod(eth0),
  "storage.Ismp.ConsensusClientUpdateTime": ismpKeys.consensusClientUpdateTime(eth0),
  "storage.Ismp.FrozenConsensusClients": ismpKeys.frozenConsensusClients(eth0),
  "storage.Ismp.ChallengePeriod": ismpKeys.challengePeriod(id),
  "storage.Ismp.LatestStateMachineHeight": ismpKeys.latestStateMachineHeight(id),
  "storage.Ismp.BoundedStateCommitments": ismpKeys.boundedStateCommitments(id, 21000000n),
  "storage.Ismp.BoundedStateMachineUpdateTime": ismpKeys.boundedStateMachineUpdateTime(id, 21000000n),
  "storage.Ismp.Nonce": ismpKeys.nonce(),
  "storage.Relayer.Fees.evmAddress": relayerKeys.fees(evm56, address),
  "storage.Relayer.Fees.hubKey": relayerKeys.fees(evm56, account),
  "storage.Relayer.Nonce.evmAddress": relayerKeys.nonce(address, evm56),
  "storage.Relayer.MinimumWithdrawalAmount": relayerKeys.minimumWithdrawalAmount(evm56),
  "storage.Relayer.OutboundConsensusDeliveryReward": relayerKeys.outboundConsensusDeliveryReward(evm56),
  "storage.Relayer.OutboundConsensusRotationsClaimed": relayerKeys.outboundConsensusRotationsClaimed(
    evm56,
    19044n,
  ),
  "storage.Relayer.OutboundRequestDeliveryReward": relayerKeys.outboundRequestDeliveryReward(
    new TextEncoder().encode("ISMP-RLYR"),
  ),
  "storage.Relayer.OutboundRequestsClaimed": relayerKeys.outboundRequestsClaimed(commitment),
  "storage.HostExecutive.EvmHosts": hostExecutiveKeys.evmHosts(evm1),
  "storage.Bandwidth.Allowance": bandwidthKeys.allowance(evm1, address),
  "storage.Bandwidth.Allowlist": bandwidthKeys.allowlist(evm1, address),
  "storage.Bandwidth.BandwidthManager": bandwidthKeys.bandwidthManager(evm1),
  "storage.Mmr.NumberOfLeaves": mmrKeys.numberOfLeaves(),
  "storage.BeefyConsensusProofs.RotationProofs": beefyProofsKeys.rotationProofs(),
  "storage.BeefyConsensusProofs.MessagingProofs": beefyProofsKeys.messagingProofs(),
  "storage.System.Events": otherKeys.systemEvents(),
  "storage.Timestamp.Now": otherKeys.timestampNow(),
  "childTrie.prefixedStorageKey": childTrieKey(),
  "childTrie.RequestCommitments": childTrieKeys.requestCommitment(commitment),
  "childTrie.RequestReceipts": childTrieKeys.requestReceipt(commitment),
  "childTrie.ResponseCommitments": childTrieKeys.responseCommitment(commitment),
  "childTrie.ResponseReceipts": childTrieKeys.responseReceipt(commitment),
  "offchain.beefyMessagingProof": offchainKeys.beefyMessagingProof(8753261n),
  "offchain.beefyRotationProof": offchainKeys.beefyRotationProof(19044n),
  "offchain.leafByCommitment": offchainKeys.leafByCommitment(commitment),
  "offchain.mmrCanonNode": offchainKeys.mmrCanonNode(8n),
};

const vectors = new Map(hub.storageKeys.map(({ name, key }) => [name, key]));

for (const [name, key] of Object.entries(made)) {
  Deno.test(`storage key vector: ${name}`, () => equal(toHex(key), vectors.get(name)));
}

Deno.test("storage key: the old child trie has its own key", () => {
  equal(new TextDecoder().decode(childTrieKey("ISMP")), ":child_storage:default:ISMP");
});
