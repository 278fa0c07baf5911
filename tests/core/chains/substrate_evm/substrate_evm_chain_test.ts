/** The adapter of Polkadot Hub on a devnet chain: an anvil behind Ethereum's RPC, its mirror behind Substrate's. */
import assert from "node:assert/strict";
import { DEVNET_KEYS } from "../../../../devnet/evm/accounts.ts";
import { type ProvenChain, startProvenChain } from "../../../../devnet/chains/proven_chains.ts";
import { deployIsmpHost, type IsmpHost } from "../../../../devnet/evm/deploy.ts";
import { sendPings } from "../../../../devnet/evm/host_admin.ts";
import { sentIn } from "../../../../devnet/traffic/messages.ts";
import { reviveMetadata } from "../../../../devnet/revive/revive_node.ts";
import type { EvmChain } from "../../../../src/core/chains/evm/evm_chain.ts";
import {
  createSubstrateEvmChain,
  type SubstrateEvmChainOptions,
} from "../../../../src/core/chains/substrate_evm/substrate_evm_chain.ts";
import { EndpointUrl, Secret } from "../../../../src/core/config/redact.ts";
import { fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { requestSenderSlot } from "../../../../src/core/evm/host_storage.ts";
import { postMessage } from "../../../../src/core/ismp/message.ts";
import { substrateEvmProofCodec } from "../../../../src/core/ismp/proof.ts";
import { toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { decodeStrict } from "../../../../src/core/encoding/scale.ts";
import { readSubstrateEvmState } from "../../../../src/core/merkle/substrate_evm_proof.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { platformSocket } from "../../../../src/core/rpc/socket.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";
import { hub, never } from "../evm/chain_fixture.ts";

type Revive = NonNullable<ProvenChain["parachain"]>;

/** A chain with a host, and an adapter for it. */
interface Scene {
  readonly proven: ProvenChain;
  readonly host: IsmpHost;
  readonly chain: EvmChain;
  readonly log: RecordedLog;
  /** Host and port of the Substrate node. */
  readonly node: string;
}

async function withChain(
  work: (scene: Scene) => Promise<void>,
  changes: Partial<SubstrateEvmChainOptions> = {},
): Promise<void> {
  await using proven = await startProvenChain("polkadot_hub", {
    blockTimeSec: "automine",
    relayUrl: "ws://127.0.0.1:9",
  });
  const { node: { chainId, rpcUrl }, parachain: revive, stateMachine } = proven;
  assert.ok(revive !== undefined);
  const identity = { stateMachine: hub.stateMachine, paraId: 4009n };
  const host = await deployIsmpHost({ rpcUrl, chainId, hub: identity });
  const log = new RecordedLog();
  const deps = {
    fetch: platformFetch,
    openSocket: platformSocket,
    clock: systemClock,
    randomness: seededRandomness(1),
    log,
  };
  const chain = createSubstrateEvmChain(deps, {
    stateMachine,
    consensusStateId: toConsensusStateId("PAS0"),
    rpcUrls: [new EndpointUrl(proven.rpcUrl)],
    wsUrl: new EndpointUrl(revive.wsUrl),
    ismpHost: host.addresses.host,
    signer: new Secret(DEVNET_KEYS.relayer),
    queryBatchSizeBlocks: undefined,
    tracingBatchSize: undefined,
    gasPriceBufferPercent: 0,
    clientType: "Geth",
    ...changes,
  });
  try {
    await work({ proven, host, chain, log, node: new URL(revive.wsUrl).host });
  } finally {
    await chain.close();
  }
}

Deno.test("polkadot hub: the start accepts both nodes; messages, fees, receipts and values of the mirrored state are proved by the Substrate node", () =>
  withChain(async ({ proven, host, chain }) => {
    const accepted = await chain.check(hub, never);
    assert.deepEqual(accepted.map(({ result, check }) => `${result} ${check}`), ["ok host"]);
    const post = { dest: "EVM-97", to: host.addresses.ping, fee: 7n, timeoutSec: 0n };
    const receipt = await sendPings(host, { ...post, count: 3 });
    const sent = sentIn(host, receipt, 0);
    const height = receipt.blockNumber;
    const stateRoot = await proven.parachain?.stateRoot(height);
    assert.ok(stateRoot !== undefined);
    const target = {
      id: hub,
      capabilities: { hubProofs: "state" },
      reads: { fetchStateRoot: () => Promise.resolve(stateRoot) },
    } as const;
    const messages = sent.map(({ request }) => postMessage(request));
    const proved = await chain.proofs.proveMessages(messages, { height, target }, never);
    assert.ok(proved.kind === "state");
    const decoded = decodeStrict(substrateEvmProofCodec, proved.proof, "proof");
    const keys = sent.map(({ commitment }) => fromHex(requestSenderSlot(commitment)));
    const address = fromHex(host.addresses.host);
    const values = readSubstrateEvmState({ stateRoot, host: address, proof: decoded, keys });
    assert.ok(keys.every((key) => values.get(toHex(key)) !== undefined));
    const commitments = sent.map(({ commitment }) => commitment);
    const { fees } = await chain.proofs.proveFees(commitments, { height, stateRoot }, never);
    assert.deepEqual(fees, [7n, 7n, 7n]);
    const { relayers } = await chain.proofs.proveReceipts(commitments, { height, stateRoot }, never);
    assert.deepEqual(relayers, [undefined, undefined, undefined]);
  }));

/** Makes a Substrate node change what it says of a method. */
function saying(of: string, change: (result: unknown) => unknown): (node: Revive) => void {
  return (node) => void (node.alter = ({ method }, result) => method === of ? change(result) : result);
}

/** Milliseconds, the lowest byte first: the highest bit of the third is more than two hours, whatever the time is. */
function hoursLater(result: unknown): unknown {
  if (typeof result !== "string" || result.length !== 18) return result;
  const third = (parseInt(result.slice(6, 8), 16) ^ 0x80).toString(16).padStart(2, "0");
  return `${result.slice(0, 6)}${third}${result.slice(8)}`;
}

/** Substrate nodes with which the start ends, and what is said of them. */
const strangers: readonly (readonly [(node: Revive) => void, string, RegExp])[] = [
  [
    (node) => void (node.missingMethods = new Set(["state_getChildReadProof"])),
    "rpc_methods_missing",
    /state_getChildReadProof/,
  ],
  [
    saying("state_getStorage", hoursLater),
    "endpoint_wrong_chain",
    /^NODE: the node at ws_url and the endpoints of rpc_urls are of different chains: block \d+ /,
  ],
  [
    saying("state_getMetadata", () => toHex(reviveMetadata(3))),
    "runtime_unsupported",
    /so the hub cannot read the state of its contracts: Revive\.AccountInfoOf: value: no variant 0/,
  ],
];

for (const [makeStrange, check, expected] of strangers) {
  Deno.test(`polkadot hub: a Substrate node that is not the chain's own ends the start: ${check}`, () =>
    withChain(async ({ proven: { parachain: revive }, chain, node }) => {
      makeStrange(revive ?? assert.fail());
      const [fatal, ...others] = (await chain.check(hub, never)).filter(({ result }) => result === "failed");
      assert.deepEqual([fatal?.check, others], [check, []]);
      assert.match(fatal?.found.replace(node, "NODE") ?? "", expected);
    }));
}

Deno.test("polkadot hub: the checks for the operator tell of both nodes", () =>
  withChain(async ({ chain, node }) => {
    const checks = { hub, fetchKnownHeight: () => Promise.resolve(3n) };
    const rows = (await Promise.all(chain.planChecks(checks).map((job) => job.run(never)))).flat();
    const ofNode = rows.filter(({ endpoint }) => endpoint === node);
    assert.deepEqual(
      ofNode.map(({ check, result }) => `${check} ${result}`).sort(),
      ["endpoint ok", "head ok", "node ok", "node_state ok", "state_proof ok"],
    );
    assert.deepEqual(
      rows.filter(({ result }) => result === "failed").map(({ check, found }) => [check, found]),
      [],
    );
  }));
