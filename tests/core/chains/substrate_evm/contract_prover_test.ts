/** Proofs of contracts by a Substrate node: what is asked, what is verified, and what is said of a node that lies. */
import assert from "node:assert/strict";
import { childKey, recordKey, trieIdOf } from "../../../../devnet/revive/mirrored_blocks.ts";
import { EvmContext } from "../../../../src/core/chains/evm/evm_context.ts";
import {
  createProofChecks,
  createProofProbe,
  EvmProofs,
  type ProofProbe,
} from "../../../../src/core/chains/evm/proofs.ts";
import { type ProofChecks, UnprovableKeyError } from "../../../../src/core/chains/proofs.ts";
import { ContractProver } from "../../../../src/core/chains/substrate_evm/substrate_evm_chain.ts";
import { concatBytes, fromHex, type Hash256, type Hex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import {
  requestFeeSlot,
  requestReceiptSlot,
  requestSenderSlot,
} from "../../../../src/core/evm/host_storage.ts";
import { postMessage } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import { SubstrateClient } from "../../../../src/core/rpc/substrate_client.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";
import { ContractNode } from "./contract_node.ts";

const never = new AbortController().signal;
const HOST: Hex = `0x${"11".repeat(20)}`;
const OTHER: Hex = `0x${"22".repeat(20)}`;
const BARE: Hex = `0x${"33".repeat(20)}`;
const CHAIN = parseStateMachine("EVM-420420417");
const commitment = (byte: string): Hash256 => `0x${byte.repeat(32)}`;

/** A chain with two requests and a receipt in its host at block 1, and what the prover reported. */
function fixture(): {
  readonly node: ContractNode;
  readonly prover: ContractProver;
  readonly proofs: EvmProofs;
  readonly checks: ProofChecks;
  readonly probe: ProofProbe;
  readonly reports: string[];
} {
  const node = new ContractNode();
  node.add(
    new Map([
      [
        HOST,
        new Map([
          [requestFeeSlot(commitment("a1")), 500n],
          [requestSenderSlot(commitment("a1")), 7n],
          [requestSenderSlot(commitment("a2")), 7n],
          [requestReceiptSlot(commitment("a3")), 0xabcdn],
        ]),
      ],
      [OTHER, new Map([[commitment("00"), 3n]])],
    ]),
  );
  const clock = new FakeClock();
  const client = new SubstrateClient({ clock, randomness: seededRandomness(1) }, node, CHAIN);
  const reports: string[] = [];
  const id = { stateMachine: CHAIN, consensusStateId: toConsensusStateId("PAS0") };
  const log = {
    warn: (event: string, { endpoint, reason }: { readonly endpoint?: unknown; readonly reason?: unknown }) =>
      reports.push(`${endpoint} ${event} ${reason}`),
  };
  const at = { host: toAddress(HOST), id, endpoints: { chain: CHAIN, hosts: [] }, log };
  const context = { at, fault: EvmContext.prototype.fault } as unknown as EvmContext;
  const prover = new ContractProver(context, client);
  const proofs = new EvmProofs(context, prover);
  const probed = [{ endpoint: client.host, prover }];
  const probe = createProofProbe({ clock, chain: CHAIN, nodes: "use an archive node" }, () => probed);
  return { node, prover, proofs, checks: createProofChecks(proofs), probe, reports };
}

async function faultOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (fault) {
    if (fault instanceof RpcFault) return `${fault.code} ${fault.where.endpointHost}: ${fault.detail}`;
    if (fault instanceof UnprovableKeyError) return fault.code;
    throw fault;
  }
  return "none";
}

Deno.test("contract prover: one request names the block, one finds the trie, and one proves", async () => {
  const { node, proofs } = fixture();
  const at = { height: 1n, stateRoot: node.state(1).root };
  await proofs.proveFees([commitment("a1")], at, never);
  const proving = ["state_getReadProof", "state_getChildReadProof"];
  assert.deepEqual(node.requests, [["chain_getBlockHash"], ["state_getReadProof"], proving]);
});

Deno.test("contract prover: a request that the host did not have yet is not found", async () => {
  const { node, proofs } = fixture();
  const post = postMessage({
    source: CHAIN,
    dest: parseStateMachine("EVM-97"),
    nonce: 1n,
    from: new Uint8Array(20),
    to: new Uint8Array(20),
    timeoutTimestampSec: 0n,
    body: new Uint8Array(),
  });
  const target = {
    id: { stateMachine: parseStateMachine("KUSAMA-4009"), consensusStateId: toConsensusStateId("PAS0") },
    capabilities: { hubProofs: "state" },
    reads: { fetchStateRoot: () => Promise.resolve(node.state(1).root) },
  } as const;
  assert.match(
    await faultOf(proofs.proveMessages([post], { height: 1n, target }, never)),
    /^not_found : at block 1 there is no request 0x[0-9a-f]{64} in the host$/,
  );
});

Deno.test("contract prover: a node that is behind, on a fork or not honest is named with what is wrong", async () => {
  const { node, proofs, reports } = fixture();
  const stateRoot = node.state(1).root;
  const prove = (): Promise<string> =>
    faultOf(proofs.proveFees([commitment("a1")], { height: 1n, stateRoot }, never));
  const behind = faultOf(proofs.proveFees([commitment("a1")], { height: 9n, stateRoot }, never));
  assert.equal(await behind, `lagging ${node.host}: no block 9 yet`);
  // A fork: another state at the same height.
  node.addState(node.state(0).change(new Map([[HOST, new Map([[commitment("01"), 1n]])]])));
  node.lie = ({ method }, result) => {
    if (method !== "state_getReadProof") return result;
    return {
      at: "",
      proof: node.state(2).main.prove([recordKey(HOST), childKey(trieIdOf(HOST))]).map(toHex),
    };
  };
  const text =
    `malformed ${node.host}: the proof of block 1 does not verify under the root that the hub stores`;
  assert.equal(await prove(), `${text}: main_trie_unreadable`);
  node.lie = ({ method }, result) => method === "state_getChildReadProof" ? { at: "", proof: [] } : result;
  assert.equal(await prove(), `${text}: storage_unreadable`);
  assert.ok(reports.every((each) => each.startsWith(`${node.host} endpoint_data_invalid.proof `)));
  assert.deepEqual(
    new Set(reports.map((each) => each.split(" ")[2])),
    new Set(["main_trie_unreadable", "storage_unreadable"]),
  );
});

Deno.test("contract prover: a contract that was made again has another trie, and is found again", async () => {
  const { node, prover } = fixture();
  const keys = [concatBytes(fromHex(OTHER), fromHex(commitment("00")))];
  await prover.prove({ keys, height: 1n }, never);
  const [key = new Uint8Array()] = keys;
  const again = node.state(1).remake(OTHER, new Map([[commitment("00"), 44n]]));
  const height = BigInt(node.addState(again));
  const { readNumber } = await prover.prove({ keys, height, stateRoot: again.root }, never);
  assert.equal(readNumber(toHex(key)), 44n);
});

Deno.test("contract prover: what can never be proved is told from what a node cannot", async () => {
  const { node, proofs } = fixture();
  node.add(new Map([[BARE, new Map([[commitment("01"), 0n]])]]));
  const prove = (key: Uint8Array): Promise<string> =>
    faultOf(proofs.proveState([key], { height: 2n, stateRoot: node.state(2).root }, never));
  assert.equal(await prove(fromHex(HOST)), "unsupported_key_length");
  for (const contract of ["33", "99"]) {
    const key = concatBytes(fromHex(`0x${contract.repeat(20)}`), fromHex(commitment("01")));
    assert.equal(await prove(key), "account_not_present");
  }
  node.lie = ({ method }) => method === "state_getReadProof" ? { at: "", proof: [] } : undefined;
  assert.match(await prove(fromHex(commitment("01"))), /^malformed .*: main_trie_unreadable$/);
});

Deno.test("contract prover: a row says whether the node proves the block that the hub knows", async () => {
  const { node, checks, probe } = fixture();
  assert.deepEqual((await probe(1n, never)).map(({ result }) => result), ["ok"]);
  await checks.requireProofs(0n, never);
  const [row] = await probe(5n, never);
  assert.deepEqual([row?.result, row?.endpoint], ["failed", "substrate.example.org:9944"]);
  assert.match(row?.found ?? "", /^no state_getChildReadProof of block 5, .* \(lagging\)/);
  assert.equal(await faultOf(checks.requireProofs(5n, never)), `lagging ${node.host}: no block 5 yet`);
});
