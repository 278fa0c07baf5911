import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { privateKeyToAccount } from "viem/accounts";
import { fromHex, type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import { decodeNaiveProof, encodeNaiveProof } from "../../src/core/beefy/naive_proof.ts";
import { beefyProofsKeys, ismpKeys, offchainKeys, otherKeys } from "../../src/core/ismp/storage_keys.ts";
import { toConsensusStateId } from "../../src/core/ismp/state_machine.ts";
import { bytes, decodeStrict, list, u64 } from "../../src/core/encoding/scale.ts";
import { DEVNET_ACCOUNTS } from "../evm/accounts.ts";
import {
  authoritySetOf,
  encodeConsensusState,
  type HubStatement,
  initialConsensusState,
  signHubProof,
} from "../evm/hub_proof.ts";
import { eventsOf, startTestHub } from "./deliveries.ts";
import type { Hub } from "./hub.ts";
import { resultHttp } from "./json_rpc_client.ts";
import { beefyStateCodec, type ProofAcceptance } from "./pallets/beefy_proofs.ts";
import { ownHeaderOf } from "./own_proofs.ts";
import { RuntimeMetadata } from "./runtime_metadata.ts";
import { DispatchError } from "./runtime.ts";

const authority = DEVNET_ACCOUNTS.oracle;
const first = authoritySetOf(authority.address, 1n);
const second = authoritySetOf(authority.address, 2n);
const third = authoritySetOf(authority.address, 3n);
const submitter: Hash256 = `0x${"70".repeat(32)}`;

/** A hub that trusts sets 1 and 2, with a post in every final block that a proof is about. */
async function startProvenHub(): Promise<Hub> {
  const hub = await startTestHub();
  const done = hub.ownProofs.initializeState(
    fromHex(encodeConsensusState(initialConsensusState(authority.address))),
  );
  hub.produceBlock();
  await done;
  return hub;
}

/** Changes the child trie, and makes the change final. */
function sendPost(hub: Hub): void {
  void hub.dispatchPost({
    dest: hub.identity.stateMachine,
    from: new Uint8Array(8),
    to: new Uint8Array(8),
    body: new Uint8Array(),
    timeoutSec: 0n,
  });
  hub.produceBlock();
  hub.produceBlock();
}

/** A statement about the newest final block. */
function statement(hub: Hub, relayBlock: bigint, change: Partial<HubStatement> = {}): HubStatement {
  const { number } = hub.finalized;
  const own = ownHeaderOf(hub.finalizedHeader);
  ok(own !== undefined);
  return {
    validatorSetId: 1n,
    blockNumber: relayBlock,
    nextAuthoritySet: second,
    commitments: [{ paraId: 4009n, height: BigInt(number), ...own }],
    ...change,
  };
}

async function submit(hub: Hub, content: HubStatement, signer = authority): Promise<ProofAcceptance> {
  const sending = hub.ownProofs.submitProof(fromHex(await signHubProof(content, signer)));
  sending.catch(() => undefined);
  hub.produceBlock();
  return await sending;
}

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof DispatchError && error.message === `BeefyConsensusProofs.${code}`;
}

async function storage(hub: Hub, key: Uint8Array): Promise<string> {
  return String(await resultHttp(hub.httpUrl, "state_getStorage", [toHex(key)]));
}

function offchain(hub: Hub, key: Uint8Array): Promise<unknown> {
  return resultHttp(hub.httpUrl, "offchain_localStorageGet", ["PERSISTENT", toHex(key)]);
}

Deno.test("own proofs: an accepted proof is an event, bytes in the offchain database, and the hub's own height", async () => {
  await using hub = await startProvenHub();
  sendPost(hub);
  const content = statement(hub, 5n);
  const proof = await signHubProof(content, authority);
  const { height, newSetId } = await submit(hub, content);
  deepEqual([height, newSetId], [BigInt(content.commitments[0]?.height ?? 0), undefined]);
  equal(await offchain(hub, offchainKeys.beefyMessagingProof(height)), proof);
  equal(await offchain(hub, offchainKeys.beefyRotationProof(1n)), null);
  const kept = fromHex(await storage(hub, beefyProofsKeys.messagingProofs()));
  deepEqual(decodeStrict(list(u64), kept, "MessagingProofs"), [height]);
  const metadata = RuntimeMetadata.load("gargantua");
  const event = metadata.encodeEvent("BeefyConsensusProofs", "ProofAccepted", {
    submitter: fromHex(submitter),
    height: u64.enc(height),
    new_set_id: Uint8Array.of(0),
    rewarded: new Uint8Array(16),
  });
  const events = await storage(hub, otherKeys.systemEvents());
  ok(events.includes(toHex(event).slice(2)));
  const id = { state_id: "KUSAMA-4009", consensus_state_id: "PAS0" };
  equal(await resultHttp(hub.httpUrl, "ismp_queryStateMachineLatestHeight", [id]), Number(height));
  deepEqual(await eventsOf(hub), [
    { StateMachineUpdated: { state_machine_id: id, latest_height: Number(height) } },
  ]);
  const commitment = await storage(
    hub,
    ismpKeys.boundedStateCommitments(
      { stateMachine: hub.identity.stateMachine, consensusStateId: hub.identity.consensusStateId },
      height,
    ),
  );
  // Seconds, then the child trie root as overlay root and the header's state root.
  ok(commitment.includes(`01${content.commitments[0]?.childTrieRoot.slice(2)}`));
  const stored = fromHex(await storage(hub, ismpKeys.consensusStates(toConsensusStateId("BEEF"))));
  const state = decodeStrict(bytes, stored, "ConsensusState");
  deepEqual(decodeStrict(beefyStateCodec, state, "ConsensusState"), {
    latestBeefyHeight: 5,
    beefyActivationBlock: 0,
    mmrRootHash: `0x${"00".repeat(32)}`,
    current: first,
    next: second,
  });
});

Deno.test("own proofs: a rotation is kept under its set, even at a height that was proven before", async () => {
  await using hub = await startProvenHub();
  sendPost(hub);
  const proven = await submit(hub, statement(hub, 5n));
  const content = statement(hub, 6n, { validatorSetId: 2n, nextAuthoritySet: third, commitments: [] });
  const rotation = await submit(hub, content);
  deepEqual([rotation.height, rotation.newSetId], [proven.height, 2n]);
  equal(await offchain(hub, offchainKeys.beefyRotationProof(2n)), await signHubProof(content, authority));
  deepEqual([...hub.ownProofs.rotationProofs], [[2n, proven.height]]);
  deepEqual(hub.ownProofs.messagingProofs, [proven.height]);
  equal(hub.ownProofs.state?.current.id, 2n);
});

Deno.test("own proofs: refuses with the live error and changes nothing", async () => {
  await using hub = await startTestHub();
  sendPost(hub);
  await rejects(submit(hub, statement(hub, 1n)), refused("NotInitialized"));
  const done = hub.ownProofs.initializeState(new Uint8Array(3));
  done.catch(() => undefined);
  hub.produceBlock();
  await rejects(done, refused("AbiDecodeFailed"));
  await using proven = await startProvenHub();
  sendPost(proven);
  await submit(proven, statement(proven, 5n));
  const before = proven.ownProofs.state;
  const raw = async (bytes: Uint8Array): Promise<unknown> => {
    const sending = proven.ownProofs.submitProof(bytes);
    sending.catch(() => undefined);
    proven.produceBlock();
    return await sending;
  };
  await rejects(raw(new Uint8Array()), refused("UnknownProofType"));
  await rejects(raw(Uint8Array.of(2, 1)), refused("UnknownProofType"));
  await rejects(raw(Uint8Array.of(0, 1)), refused("AbiDecodeFailed"));
  await rejects(submit(proven, statement(proven, 5n)), refused("StaleProof"));
  await rejects(submit(proven, statement(proven, 6n, { commitments: [] })), refused("StaleProof"));
  await rejects(submit(proven, statement(proven, 6n)), refused("NoNewWork"));
  sendPost(proven);
  const good = statement(proven, 6n);
  await rejects(submit(proven, { ...good, validatorSetId: 3n }), refused("VerificationFailed"));
  const stranger = privateKeyToAccount(`0x${"12".repeat(32)}`);
  await rejects(submit(proven, good, stranger), refused("VerificationFailed"));
  const [claimed] = good.commitments;
  ok(claimed !== undefined);
  const { relay } = decodeNaiveProof(fromHex(await signHubProof(good, authority)));
  for (
    const change of [{ mmrRoot: submitter }, { childTrieRoot: submitter }, { timestampSec: 1n }, {
      height: 10_000n,
    }]
  ) {
    // Heads that are not those below the signed root.
    const wrong = { ...good, commitments: [{ ...claimed, ...change }] };
    const { parachain } = decodeNaiveProof(fromHex(await signHubProof(wrong, authority)));
    await rejects(raw(encodeNaiveProof({ relay, parachain })), refused("VerificationFailed"));
  }
  await rejects(raw(Uint8Array.of(1, 1)), refused("UnknownProofType"));
  await rejects(
    submit(proven, { ...good, validatorSetId: 2n, nextAuthoritySet: authoritySetOf(authority.address, 9n) }),
    refused("UnexpectedAuthoritySet"),
  );
  deepEqual(proven.ownProofs.state, before);
  equal((await submit(proven, good)).newSetId, undefined);
});
