import { consensusClientIds } from "../../../../src/core/ismp/consensus_clients.ts";
import assert from "node:assert/strict";
import { resultHttp } from "../../../../devnet/hub/json_rpc_client.ts";
import { BscProver, type BscProverDeps } from "../../../../src/consensus/clients/bsc/client.ts";
import type { ConsensusProver, ProverFinding } from "../../../../src/consensus/prover.ts";
import { decodeBscState, decodeBscUpdate } from "../../../../src/consensus/clients/bsc/spec/verify_update.ts";
import type { EvmBlockHeader } from "../../../../src/core/evm/block_header.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { type BscChainOptions, bscHeaderRule } from "../../../../devnet/evm/bsc_validators.ts";
import { catchProverFault } from "../../findings.ts";
import { BSC0, bscTarget, chapel, MemoryBscChain } from "./bsc_chain.ts";
import { openEvmReader } from "../../../../src/consensus/evm_reader.ts";
import { EndpointUrl } from "../../../../src/core/config/redact.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { systemRandomness } from "../../../../src/core/runtime/clock.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { startAnvil } from "../../../../devnet/evm/anvil.ts";
import { startHeaderRewriter } from "../../../../devnet/evm/header_rewriter.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";

const signal = new AbortController().signal;
const EPOCH = 40n;

interface Scene {
  readonly chain: MemoryBscChain;
  readonly hub: ReturnType<typeof bscTarget>;
  readonly prover: ConsensusProver;
  /** Looks once and lets the hub take what was found; by the next poll an advance is due. */
  look(): Promise<ProverFinding>;
}

/** The prover of a chain by its headers. */
function proverOf(
  hub: ReturnType<typeof bscTarget>,
  headers: BscProverDeps["headers"],
  { epochLength = EPOCH, intervalMs = 300_000 } = {},
): ConsensusProver {
  const options = {
    stateMachine: parseStateMachine("EVM-97"),
    consensusStateId: BSC0,
    epochLength,
    intervalMs,
  };
  return new BscProver({ hub, headers }, options);
}

function stage(options: Partial<BscChainOptions> = {}, epoch = 0n): Scene {
  const epochLength = options.epochLength ?? EPOCH;
  const chain = new MemoryBscChain({ epochLength, ...options });
  const hub = bscTarget(chain, epochLength, epoch);
  const prover = proverOf(hub, chain.reader, { epochLength });
  const look = async (): Promise<ProverFinding> => {
    const found = await prover.next(signal);
    if (found.kind === "updates") hub.take(found.proofs);
    hub.nowSec += 300n;
    return found;
  };
  return { chain, hub, prover, look };
}

/** A different set each epoch: four or five of ten validators. */
function changing(epoch: bigint): readonly number[] {
  const start = Number(epoch % 5n);
  return [1, 2, 3, 4, 5].slice(0, 4 + Number(epoch % 2n)).map((at) => at + start);
}

Deno.test("a BSC prover proves the block before the last pair that was voted for", async () => {
  const { chain, hub, look } = stage();
  chain.head = 17n;
  const found = await look();
  assert.equal(found.kind, "updates");
  assert.equal(hub.state.finalizedHeight, 15n);
  assert.match(found.kind === "updates" ? found.summary : "", /finalized block 15, validators of epoch 0/);
  const again = await look();
  assert.equal(again.kind, "nothing", "the hub knows all that can be proved");
});

Deno.test("a BSC prover steps back from blocks without votes, with too few, and with pairs that are not adjacent", async () => {
  const votings: Readonly<Record<string, { voters?: number; distance?: bigint }>> = {
    17: { voters: 0 },
    16: { voters: 2 },
    15: { distance: 2n },
  };
  const { chain, hub, look } = stage({ voting: (block) => votings[`${block}`] });
  chain.head = 17n;
  await look();
  assert.equal(hub.state.finalizedHeight, 12n, "source of the votes in block 14");
});

Deno.test("a BSC prover says why when no block has votes of use", async () => {
  const { chain, look } = stage({ voting: () => ({ voters: 2 }) });
  chain.head = 17n;
  const found = await look();
  assert.ok(found.kind === "nothing");
  assert.match(found.reason, /too_few_voters/);
});

Deno.test("a BSC prover follows four epochs with changing sets, looking as often as it asks for", async () => {
  const { chain, hub, prover, look } = stage({ setOf: changing });
  for (let head = 5n; head < 4n * EPOCH + 30n; head += 4n) {
    chain.head = head;
    const found = await look();
    if (found.kind === "updates" && found.hasMore) await look();
  }
  assert.equal(hub.state.currentEpoch, 4n);
  assert.ok(hub.state.finalizedHeight >= 4n * EPOCH + 20n, `${hub.state.finalizedHeight}`);
  assert.ok(prover.intervalMs <= Number(EPOCH) * 1_000 / 10, "several looks fall into an epoch of 40 s");
});

Deno.test("a BSC prover advances as often as configured, with rotations in between", async () => {
  const { chain, hub, prover } = stage({ setOf: changing });
  const takenAt: [bigint, bigint][] = [];
  // Blocks of one second, looked at every second.
  for (let head = 5n; head < 4n * EPOCH; head++) {
    chain.head = head;
    hub.nowSec++;
    const found = await prover.next(signal);
    if (found.kind === "nothing") continue;
    const { currentEpoch, nextValidators } = hub.state;
    hub.take(found.proofs);
    const isRotation = hub.state.currentEpoch > currentEpoch || hub.state.nextValidators !== nextValidators;
    if (!isRotation) takenAt.push([head, hub.nowSec]);
  }
  assert.equal(hub.state.currentEpoch, 3n);
  assert.deepEqual(takenAt.map(([head]) => head), [5n], "epochs of 40 s leave no other advance due in 300 s");
  chain.head = 3n * EPOCH + 30n;
  const early = await prover.next(signal);
  assert.ok(early.kind === "nothing");
  assert.match(early.reason, /^the client was updated \d+ s ago, and the next advance is due in \d+ s$/);
  assert.equal(early.againInMs, prover.intervalMs);
  hub.nowSec = hub.updatedSec + 299n;
  const almost = await prover.next(signal);
  assert.equal(almost.kind === "nothing" && almost.againInMs, 1_000);
  hub.nowSec = hub.updatedSec + 300n;
  assert.equal((await prover.next(signal)).kind, "updates");
});

for (const age of [1n, 2n, 3n]) {
  Deno.test(`no endpoint is accused around a rotation when votes are for targets ${age} blocks older`, async () => {
    const turnLength = 2;
    const { chain, hub, look } = stage({ setOf: changing, turnLength, voting: () => ({ age }) });
    for (let head = EPOCH - 3n; head < 3n * EPOCH; head++) {
      chain.head = head;
      await look();
    }
    assert.equal(hub.state.currentEpoch, 2n);
    assert.equal(hub.state.finalizedHeight, 3n * EPOCH - 2n - age);
  });
}

Deno.test("no endpoint is accused when the old set's votes cannot stage the next set, or it is not known who signs", async () => {
  // The first votes of the epoch that suffice are those of the set that it announces.
  const { chain, look } = stage({
    setOf: changing,
    voting: (block) => block >= EPOCH && block < EPOCH + 8n ? { voters: 0 } : undefined,
  });
  for (let head = EPOCH; head < EPOCH + 30n; head++) {
    chain.head = head;
    const found = await look();
    if (found.kind === "nothing") continue;
    assert.ok(head < EPOCH + 8n, `${head}`);
  }
  const stalled = await look();
  assert.match(
    stalled.kind === "nothing" ? stalled.reason : "",
    /\(the last one: (other_signers|unknown_voter)\)/,
  );
});

Deno.test("a new BSC client whose set does not sign yet accuses no endpoint", async () => {
  const { chain, look } = stage({
    setOf: (epoch) => epoch < 3n ? [1, 2, 3, 4, 5, 6, 7] : [2, 3, 4, 5, 6],
    turnLength: 2,
  }, 3n);
  for (let head = 3n * EPOCH; head < 3n * EPOCH + 20n; head++) {
    chain.head = head;
    await look();
  }
});

Deno.test("a BSC prover catches up on missed epochs, up to eight updates in one extrinsic", async () => {
  const { chain, hub, look } = stage({ setOf: changing });
  chain.head = 5n * EPOCH + 35n;
  const sizes: number[] = [];
  for (let rounds = 0; rounds < 10; rounds++) {
    const found = await look();
    if (found.kind === "nothing") break;
    sizes.push(found.proofs.length);
    assert.equal(found.hasMore, found.proofs.length === 8);
  }
  assert.equal(hub.state.currentEpoch, 5n);
  assert.equal(hub.state.finalizedHeight, 5n * EPOCH + 33n);
  assert.equal(Math.max(...sizes), 8);
});

Deno.test("a BSC prover carries the ancestry of the epoch's first block when later votes must do", async () => {
  const { chain, hub, look } = stage({
    setOf: changing,
    turnLength: 2,
    // No votes in the first blocks of epoch 1 that could bring its first block without an ancestry.
    voting: (block) => block >= EPOCH && block <= EPOCH + 3n ? { voters: 0 } : undefined,
  });
  chain.head = EPOCH + 5n;
  const found = await look();
  assert.ok(found.kind === "updates");
  const update = decodeBscUpdate(found.proofs[0] ?? new Uint8Array(0));
  assert.equal(update.sourceHeader.number, EPOCH + 2n);
  assert.deepEqual(update.epochHeaderAncestry.map(({ number }) => number), [EPOCH, EPOCH + 1n]);
  assert.equal(hub.state.nextValidators?.validators.length, 5);
});

Deno.test("a BSC prover waits while the hub's last word is not final", async () => {
  const { chain, hub, look } = stage();
  hub.finalState = hub.state;
  chain.head = 17n;
  await look();
  chain.head = 20n;
  const waiting = await look();
  assert.ok(waiting.kind === "nothing");
  assert.equal(waiting.againInMs, 3_000);
  hub.finalState = undefined;
  assert.equal((await look()).kind, "updates");
});

Deno.test("a BSC prover reports that a client that missed its epoch is unrecoverable", async () => {
  const { chain, hub, look, prover } = stage({ setOf: changing });
  chain.head = EPOCH + 3n;
  await look();
  hub.state = { ...hub.state, finalizedHeight: 2n * EPOCH - 1n };
  chain.head = 3n * EPOCH;
  const fault = await catchProverFault(prover.next(signal));
  assert.equal(fault.code, "hub_state");
  assert.match(
    fault.message,
    /^EVM-97: no update can advance the client on the hub .*log-consensus-state/,
  );
});

const lies: Readonly<Record<string, (header: EvmBlockHeader) => EvmBlockHeader>> = {
  "the state root": (header) => ({ ...header, stateRoot: header.parentHash }),
  "the number": (header) => ({ ...header, number: header.number + 1n }),
  "the parent": (header) => ({ ...header, parentHash: header.stateRoot }),
  "the time": (header) => ({ ...header, timestampSec: header.timestampSec + 1n }),
  "the votes": (header) => ({ ...header, extraData: header.extraData.with(60, 1) }),
  "the gas": (header) => ({ ...header, gasUsed: 9n }),
};

for (const [what, lie] of Object.entries(lies)) {
  Deno.test(`nothing is paid for when a node lies about ${what} of its BSC headers`, async () => {
    const { chain, hub, prover, look } = stage();
    chain.head = 17n;
    const before = hub.state;
    chain.lie = lie;
    const outcome = await prover.next(signal).catch((error: unknown) => error);
    assert.ok(outcome instanceof Error || (outcome as ProverFinding).kind === "nothing");
    assert.deepEqual(hub.state, before);
    chain.lie = undefined;
    assert.equal((await look()).kind, "updates", "an honest node does afterwards");
  });
}

Deno.test("a node whose headers fit together but not with the votes is named, and of several all are", async () => {
  const chain = new MemoryBscChain({ epochLength: EPOCH });
  const hub = bscTarget(chain, EPOCH);
  chain.head = 17n;
  chain.lie = (header) => {
    // Into the signature: behind it are the vote data and the seal.
    const at = header.extraData.length - 65 - 100;
    const byte = header.extraData[at];
    return byte === undefined ? header : { ...header, extraData: header.extraData.with(at, byte ^ 1) };
  };
  const proverAt = (hosts: readonly string[]): ConsensusProver =>
    proverOf(hub, { ...chain.reader, hosts }, { intervalMs: 1 });
  chain.requests = 0;
  chain.head = 39n;
  const one = await catchProverFault(proverAt(["bsc.example"]).next(signal));
  assert.equal(chain.requests, 36, "sixteen updates are tried, no more");
  assert.deepEqual([one.code, one.endpoint], ["bad_data", "bsc.example"]);
  const several = await catchProverFault(proverAt(["a.example", "b.example"]).next(signal));
  assert.deepEqual([several.code, several.endpoint], ["bad_data", undefined]);
  assert.match(several.message, /one of a\.example, b\.example/);
});

Deno.test("the initial state of a BSC client trusts the first block of the newest epoch", async () => {
  const { chain, prover } = stage({ setOf: changing });
  chain.head = 3n * EPOCH + 20n;
  const initial = await prover.fetchInitialState(signal);
  assert.equal(initial.clientId, consensusClientIds.bsc);
  const state = decodeBscState(initial.state);
  assert.equal(state.finalizedHeight, 3n * EPOCH);
  assert.equal(state.currentEpoch, 3n);
  assert.equal(state.currentValidators.length, 5);
  assert.equal(initial.challengePeriods.get(parseStateMachine("EVM-97")), 300n);
});

Deno.test("the check of a BSC chain compares epoch length and chain id", async () => {
  const chain = new MemoryBscChain({ epochLength: EPOCH });
  const hub = bscTarget(chain, EPOCH);
  const headers = {
    ...chain.reader,
    fetchChainIds: () => Promise.resolve([{ host: "bsc.example", id: 56n }]),
  };
  hub.clients.delete(BSC0);
  const prover = proverOf(hub, headers, { epochLength: 1000n });
  const [chainId, epochs, ...more] = await prover.check(signal);
  assert.deepEqual([chainId?.result, epochs?.result, more], ["failed", "warning", []]);
  assert.deepEqual([chainId?.endpoint, chainId?.found], [
    "bsc.example",
    "serves EVM-56, not EVM-97",
  ]);
  assert.match(epochs?.found ?? "", /epoch_length is 1000 .* 40 on the hub/);
});

Deno.test("updates built from the headers of a node over HTTP are accepted, across an epoch", async () => {
  await using node = await startAnvil({ chainId: 97 });
  const rule = bscHeaderRule({
    network: chapel,
    epochLength: 20n,
    setOf: (epoch) => [1, 2, 3 + Number(epoch)],
  });
  await using shown = await startHeaderRewriter({ upstream: node.rpcUrl, rule });
  const reader = openEvmReader(
    { fetch: platformFetch, clock: systemClock, randomness: systemRandomness, log: new RecordedLog() },
    { stateMachine: parseStateMachine("EVM-97"), urls: [new EndpointUrl(shown.rpcUrl)] },
  );
  const hub = bscTarget(new MemoryBscChain({ epochLength: 20n }), 20n);
  const prover = proverOf(hub, reader, { epochLength: 20n, intervalMs: 1_000 });
  assert.deepEqual(await prover.check(signal), []);
  const initial = await prover.fetchInitialState(signal);
  hub.state = decodeBscState(initial.state);
  await resultHttp(node.rpcUrl, "anvil_mine", ["0x21"]);
  const found = await prover.next(signal);
  assert.ok(found.kind === "updates");
  hub.take(found.proofs);
  assert.equal(hub.state.finalizedHeight, 31n);
  assert.equal(hub.state.currentEpoch, 1n);
});
