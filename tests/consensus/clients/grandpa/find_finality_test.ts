/** Searches over scripted headers: what the digests of blocks say of the voters. */
import assert from "node:assert/strict";
import {
  type FinalityResult,
  FinalitySearch,
  type FinalitySource,
} from "../../../../src/consensus/clients/grandpa/find_finality.ts";
import { GrandpaProver } from "../../../../src/consensus/clients/grandpa/grandpa_prover.ts";
import { ProverFault } from "../../../../src/consensus/prover.ts";
import type { RelayBlock, RelayChain } from "../../../../src/consensus/relay_chain/relay_chain.ts";
import { concatBytes, type Hash256, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import {
  grandpaAuthoritiesCodec,
  type GrandpaConsensusState,
} from "../../../../src/consensus/clients/grandpa/spec/message.ts";
import type { DigestItem } from "../../../../src/core/substrate/header.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { u32 } from "../../../../src/core/encoding/scale.ts";
import { connectRelay } from "../../../../devnet/relay/relay_reader.ts";
import { Fixture, never } from "./fixture.ts";

const hash = (byte: number): Hash256 => toHash256(new Uint8Array(32).fill(byte));
const set = grandpaAuthoritiesCodec.enc([{ id: hash(7), weight: 1n }]);
const log = (...parts: readonly Uint8Array[]): DigestItem => ({
  kind: "consensus",
  engine: "FRNK",
  data: concatBytes(...parts),
});
const scheduled = log(Uint8Array.of(1), set, u32.enc(0));
const forced = log(Uint8Array.of(2), u32.enc(9), set, u32.enc(0));

const trusted: GrandpaConsensusState = {
  currentAuthorities: [{ id: hash(7), weight: 1n }],
  currentSetId: 1n,
  latestHeight: 10,
  latestHash: hash(10),
  slotDurationMs: 6_000n,
  stateMachine: parseStateMachine("KUSAMA-4009"),
};

/** A chain of 20 blocks with these digests, whose justifications are equal. */
function search(
  digests: ReadonlyMap<number, readonly DigestItem[]>,
  justification: Uint8Array | undefined,
): Promise<FinalityResult> {
  const blockAt = (number: number): RelayBlock => ({
    hash: hash(number),
    header: {
      parentHash: hash(number - 1),
      number,
      stateRoot: hash(0),
      extrinsicsRoot: hash(0),
      digest: digests.get(number) ?? [],
    },
  });
  const source: FinalitySource = {
    fetchFinalized: () => Promise.resolve(blockAt(20)),
    fetchBlocks: (from, to) =>
      Promise.resolve(Array.from({ length: to - from + 1 }, (_, at) => blockAt(from + at))),
    fetchJustification: () => Promise.resolve(justification),
    fetchJustifications: (blocks) => Promise.resolve(blocks.map(() => justification)),
    proveFinality: () => Promise.resolve(undefined),
  };
  return new FinalitySearch(source, 100).find(trusted, never);
}

Deno.test("finality search: a forced change is named where nothing before it can be proved", async () => {
  const bad = Uint8Array.of(1);
  const stuck = { kind: "forced_change", block: 15 };
  assert.deepEqual(await search(new Map([[15, [forced]]]), bad), stuck);
  assert.deepEqual(await search(new Map([[15, [forced]]]), undefined), stuck);
  assert.deepEqual(await search(new Map([[15, [forced]], [18, [scheduled]]]), bad), stuck);
  assert.deepEqual(await search(new Map([[15, [scheduled, forced]]]), bad), stuck);
});

Deno.test("finality search: what fails before a forced change, or without one, is the node's", async () => {
  const bad = Uint8Array.of(1);
  assert.equal((await search(new Map(), bad)).kind, "none");
  assert.equal((await search(new Map([[12, [scheduled]], [15, [forced]]]), bad)).kind, "none");
  assert.equal((await search(new Map([[9, [forced]]]), bad)).kind, "none");
});

/** The chain with a forced change right after the block that a client trusts. */
function forcedAfter(chain: RelayChain, { latestHash, latestHeight }: GrandpaConsensusState): RelayChain {
  const roots = { stateRoot: hash(0), extrinsicsRoot: hash(0) };
  const known: RelayBlock = {
    hash: latestHash,
    header: { ...roots, parentHash: hash(0), number: latestHeight, digest: [] },
  };
  const next: RelayBlock = {
    hash: hash(9),
    header: { ...roots, parentHash: latestHash, number: latestHeight + 1, digest: [forced] },
  };
  const told: Partial<RelayChain> = {
    fetchFinalized: () => Promise.resolve(next),
    fetchBlocks: () => Promise.resolve([known, next]),
    fetchJustifications: () => Promise.resolve([Uint8Array.of(1)]),
    proveFinality: () => Promise.resolve(undefined),
  };
  return new Proxy(chain, {
    get: (_, name) => {
      const value: unknown = Reflect.get(Object.hasOwn(told, name) ? told : chain, name);
      return typeof value === "function" ? value.bind(chain) : value;
    },
  });
}

Deno.test("GRANDPA prover: a client before a forced change cannot be advanced, and no node is accused", async () => {
  await using fixture = await Fixture.start();
  await using reader = connectRelay(fixture.relay.wsUrl);
  const state = await fixture.fetchTrusted();
  const { stateMachine, consensusStateId } = fixture.hubId;
  const deps = { relay: forcedAfter(reader.chain, state), target: fixture.target };
  const prover = new GrandpaProver(deps, {
    stateMachine,
    consensusStateId,
    paraIds: [4009],
    maxBlockRange: 100,
    slotDurationMs: 6_000,
    intervalMs: 300_000,
  });
  const fault = await prover.next(never).catch((error: unknown) => error);
  assert.ok(fault instanceof ProverFault, String(fault));
  assert.equal(fault.code, "unrecoverable");
  assert.equal(fault.endpoint, undefined);
  const block = state.latestHeight + 1;
  assert.match(
    fault.detail,
    new RegExp(`^block ${block} forces a change .* of SUBSTRATE-dest must create its client again$`),
  );
});
