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

/** Codes of what the start finds. */
async function findings({ chain }: Scene): Promise<readonly string[]> {
  return (await chain.check(hub, never)).map(({ result, check }) => `${result} ${check}`);
}

Deno.test("polkadot hub: messages, fees, receipts and values of the mirrored state are proved by the Substrate node", () =>
  withChain(async ({ proven, host, chain }) => {
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

Deno.test("polkadot hub: the start accepts both nodes of the chain", () =>
  withChain(async (scene) => {
    assert.deepEqual(await findings(scene), ["ok host"]);
  }));

Deno.test("polkadot hub: a Substrate node of another chain ends the start, with both sides named", () =>
  withChain(async (scene) => {
    const { parachain: revive } = scene.proven;
    assert.ok(revive !== undefined);
    // Milliseconds, the lowest byte first: the highest bit of the third is more than two hours, whatever the time is.
    revive.alter = ({ method }, result) =>
      method === "state_getStorage" && typeof result === "string" && result.length === 18
        ? `${result.slice(0, 6)}${(parseInt(result.slice(6, 8), 16) ^ 0x80).toString(16).padStart(2, "0")}${
          result.slice(8)
        }`
        : result;
    const found = await scene.chain.check(hub, never);
    const fatal = found.filter(({ result }) => result === "failed");
    assert.deepEqual(fatal.map(({ check }) => check), ["endpoint_wrong_chain"]);
    assert.match(
      fatal[0]?.found ?? "",
      new RegExp(
        `^${scene.node}: the node at ws_url and the endpoints of rpc_urls are of different chains: block \\d+ `,
      ),
    );
  }));

Deno.test("polkadot hub: a node without child proofs, or whose accounts have another layout, ends the start", () =>
  withChain(async (scene) => {
    const { parachain: revive } = scene.proven;
    assert.ok(revive !== undefined);
    revive.missingMethods = new Set(["state_getChildReadProof"]);
    const [lacking] = (await scene.chain.check(hub, never)).filter(({ result }) => result === "failed");
    assert.equal(lacking?.check, "rpc_methods_missing");
    assert.match(lacking.found, /state_getChildReadProof/);
    revive.missingMethods = new Set();
    revive.alter = ({ method }, result) => method === "state_getMetadata" ? toHex(reviveMetadata(3)) : result;
    const [unlike] = (await scene.chain.check(hub, never)).filter(({ result }) => result === "failed");
    assert.equal(unlike?.check, "runtime_unsupported");
    assert.match(
      unlike.found,
      /so the hub cannot read the state of its contracts: Revive\.AccountInfoOf: value: no variant 0/,
    );
  }));

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
