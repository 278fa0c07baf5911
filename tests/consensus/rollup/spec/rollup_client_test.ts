import { consensusClientIds } from "../../../../src/core/ismp/consensus_clients.ts";
import { evmCommitment } from "../../../../src/consensus/spec/header_commitment.ts";
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import {
  commitmentIdOf,
  findRollupClient,
  ROLLUP_UNBONDING_SEC,
} from "../../../../src/consensus/rollup/spec/rollup_client.ts";
import {
  accountNodesOf,
  provenStorageRoot,
  provenWord,
  slotNodesOf,
} from "../../../../src/consensus/rollup/spec/l1_storage.ts";
import { word } from "../../../../src/core/evm/host_storage.ts";
import {
  evmStateMachine,
  stateMachineIdKey,
  toConsensusClientId,
  toConsensusStateId,
} from "../../../../src/core/ismp/state_machine.ts";
import { toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { type EvmProofErrorCode } from "../../../../src/core/merkle/evm_proof.ts";
import { EMPTY_ROOT } from "../../../../src/core/merkle/patricia.ts";
import { buildL1 } from "./l1_fixture.ts";
import { l1Id, rollupId } from "./vectors.ts";

Deno.test("rollup ids: commitments are stored under the L1's id", () => {
  const state = { finalizedHeight: 1n, stateMachineId: rollupId, l1StateMachineId: l1Id };
  equal(stateMachineIdKey(commitmentIdOf(state)), "EVM-10/ETH0");
  const block = { number: 2n ** 64n + 5n, timestampSec: 7n, stateRoot: word(3n) };
  equal(evmCommitment(commitmentIdOf(state), block), {
    height: { id: commitmentIdOf(state), height: 5n },
    commitment: { timestampSec: 7n, overlayRoot: undefined, stateRoot: word(3n) },
  });
  equal(ROLLUP_UNBONDING_SEC, 0xffff_ffff_ffff_ffffn);
});

Deno.test("rollup ids: an id that is not a rollup client's is replaced by the one known for the chain", () => {
  const eth0 = toConsensusStateId("ETH0");
  const beacon = toConsensusClientId("BEAC");
  const mine = toConsensusStateId("XYZ0");
  const name = (
    chain: number,
    id: typeof eth0,
    client?: typeof beacon,
  ): ReturnType<typeof findRollupClient> =>
    findRollupClient({ stateMachine: evmStateMachine(chain), consensusStateId: id }, eth0, client);
  equal(name(10, mine, consensusClientIds.opStack), "XYZ0");
  equal(name(42161, mine, consensusClientIds.arbitrum), "XYZ0");
  equal(name(10, eth0, beacon), "OPT0");
  equal(name(84532, mine, beacon), "BASE");
  equal(name(42161, mine), "ARB0");
  equal(name(5, eth0, beacon), undefined);
  equal(name(5, eth0, consensusClientIds.opStack), undefined);
});

function refuses(code: EvmProofErrorCode, read: () => unknown): void {
  throws(read, { name: "EvmProofError", code });
}

const contract = "0x00000000000000000000000000000000000000aa";
const other = "0x00000000000000000000000000000000000000bb";

Deno.test("L1 storage: words of any length are read out of answers, empty slots are undefined", async () => {
  const values = [1n, 0x80n, 2n ** 64n, 2n ** 256n - 1n];
  const slots = values.map((_, at) => word(BigInt(at)));
  const entries = slots.map((slot, at) => [slot, values[at] ?? 0n] as const);
  const l1 = await buildL1(new Map([[contract, new Map(entries)]]));
  const answer = await l1.prove(contract, [...slots, word(99n)]);
  const root = provenStorageRoot(accountNodesOf(answer), l1.stateRoot, contract);
  equal(root, answer.storageHash);
  for (const [at, slot] of slots.entries()) {
    equal(provenWord(slotNodesOf(answer, at), root, slot), word(values[at] ?? 0n));
  }
  equal(provenWord(slotNodesOf(answer, values.length), root, word(99n)), undefined);
  refuses("storage_unreadable", () => provenWord([], root, word(0n)));
  refuses("account_not_present", () => provenStorageRoot([...accountNodesOf(answer)], l1.stateRoot, other));
  refuses("invalid_account_proof", () => provenStorageRoot([], l1.stateRoot, contract));
});

Deno.test("L1 storage: the node of an empty trie, which endpoints leave out, is added", () => {
  const answer = { storageHash: toHash256(EMPTY_ROOT), storageProof: [{ proof: [] }] };
  equal(provenWord(slotNodesOf(answer, 0), answer.storageHash, word(5n)), undefined);
});

Deno.test("L1 storage: answers that are not hex or lack a slot are refused", () => {
  refuses("malformed_answer", () => accountNodesOf({ accountProof: ["0x0"] }));
  refuses(
    "malformed_answer",
    () => slotNodesOf({ storageHash: word(1n), storageProof: [{ proof: ["zz"] }] }, 0),
  );
  refuses("malformed_answer", () => slotNodesOf({ storageHash: word(1n), storageProof: [] }, 0));
});
