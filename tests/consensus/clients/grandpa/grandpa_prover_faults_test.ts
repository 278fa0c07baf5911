import assert from "node:assert/strict";
import { ProverFault, type ProverFinding } from "../../../../src/consensus/prover.ts";
import { concatBytes, fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import {
  finalityProofCodec,
  type GrandpaJustification,
  grandpaJustificationCodec,
} from "../../../../src/consensus/clients/grandpa/spec/message.ts";
import { decodeGrandpaJustification } from "../../../../src/consensus/clients/grandpa/spec/verify_justification.ts";
import { decodeStrict } from "../../../../src/core/encoding/scale.ts";
import { parseRequestJson, stringifyJson } from "../../../../devnet/hub/rpc/json_rpc.ts";
import { outcomeOf, turned, updatesOf } from "../../findings.ts";
import { Fixture, type FixtureOptions, never, onFixture } from "./fixture.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

/** Keeps only justifications at changes of the set, so that no other block makes up for a lie. */
const sparse: FixtureOptions = { relay: { grandpaPeriod: 512 } };

/** As {@link outcomeOf} says, but of a fault only its code and the rule of the verifier. */
async function ruleOf(look: Promise<ProverFinding>): Promise<string> {
  return (await outcomeOf(look)).replace(/: .*\((\w+)\).*/, " $1");
}

/** A copy of an answer in which the value at a path is another one. */
function changed(
  result: unknown,
  path: readonly string[],
  change: (value: unknown) => unknown = turned,
): unknown {
  const copy = parseRequestJson(stringifyJson(result));
  const parent = path.slice(0, -1).reduce((value, name) => Object(value)[name], copy);
  const name = path.at(-1) ?? "";
  assert.ok(name in Object(parent), path.join("."));
  Object(parent)[name] = change(Object(parent)[name]);
  return copy;
}

const headerFields = [
  "parentHash",
  "number",
  "stateRoot",
  "extrinsicsRoot",
  "digest.logs.0",
  "digest.logs.2",
];

Deno.test("GRANDPA prover: a node that is wrong about any field of a header is named", async () => {
  await using fixture = await Fixture.start(sparse);
  fixture.advance();
  const prover = fixture.prover();
  for (const field of headerFields) {
    fixture.relay.alter = ({ method }, result) =>
      method === "chain_getHeader" ? changed(result, field.split(".")) : result;
    assert.equal(await outcomeOf(prover.next(never)), "malformed", field);
  }
  fixture.relay.alter = undefined;
  assert.equal((await fixture.follow(prover)).length, 1);
});

Deno.test("GRANDPA prover: a node that is wrong about hashes of blocks is named", async () => {
  await using fixture = await Fixture.start(sparse);
  fixture.advance();
  const prover = fixture.prover();
  fixture.relay.alter = ({ method }, result) => method === "chain_getFinalizedHead" ? turned(result) : result;
  assert.equal(await outcomeOf(prover.next(never)), "lagging");
  for (const at of ["0", "1"]) {
    fixture.relay.alter = ({ method }, result) =>
      method === "chain_getBlockHash" ? changed(result, [at]) : result;
    assert.equal(await outcomeOf(prover.next(never)), "lagging", at);
    // The hash of a block that exists, but another one.
    fixture.relay.alter = ({ method }, result) =>
      method === "chain_getBlockHash" ? changed(result, [at], () => fixture.relay.hash(1)) : result;
    assert.equal(await outcomeOf(prover.next(never)), "malformed", at);
  }
  fixture.relay.alter = ({ method }, result) =>
    method === "chain_getBlockHash" ? changed(result, ["1"], () => null) : result;
  assert.equal(await outcomeOf(prover.next(never)), "lagging");
});

/** Lies about a justification, and the rule of the verifier that each breaks. */
const lies: readonly (readonly [
  name: string,
  rule: string,
  change: (told: GrandpaJustification) => GrandpaJustification,
])[] = [
  ["round", "signature", (told) => ({ ...told, round: told.round + 1n })],
  ["one vote less", "too_few_votes", (told) => ({
    ...told,
    commit: { ...told.commit, precommits: told.commit.precommits.slice(1) },
  })],
];

Deno.test("GRANDPA prover: a node that is wrong about its newest justification is named", async () => {
  await using fixture = await Fixture.start(sparse);
  fixture.advance();
  const prover = fixture.prover();
  const lieWith = (change: (justification: Uint8Array) => Uint8Array): void => {
    fixture.relay.alter = ({ method }, result) => {
      if (method !== "grandpa_proveFinality") return result;
      const proof = decodeStrict(finalityProofCodec, fromHex(String(result)), "FinalityProof");
      return toHex(finalityProofCodec.enc({ ...proof, justification: change(proof.justification) }));
    };
  };
  for (const [name, rule, change] of lies) {
    lieWith((bytes) => grandpaJustificationCodec.enc(change(decodeGrandpaJustification(bytes))));
    assert.equal(await ruleOf(prover.next(never)), `bad_data ${rule}`, name);
  }
  lieWith((bytes) => concatBytes(bytes, Uint8Array.of(0)));
  assert.equal(await ruleOf(prover.next(never)), "bad_data undecodable_justification");
  // Of a block that may have become final meanwhile, of one that the chain knows, and no justification at all.
  lieWith(() => fixture.relay.grandpaJustification(fixture.relay.finalized.number + 1));
  assert.equal(await outcomeOf(prover.next(never)), "updates");
  lieWith(() => fixture.relay.grandpaJustification(2));
  assert.equal(await outcomeOf(prover.next(never)), "nothing");
  fixture.relay.alter = ({ method }, result) => method === "grandpa_proveFinality" ? "0x00" : result;
  assert.equal(await outcomeOf(prover.next(never)), "nothing");
  fixture.relay.alter = ({ method }, result) => method === "grandpa_proveFinality" ? 17 : result;
  assert.equal(await outcomeOf(prover.next(never)), "malformed");
  fixture.relay.alter = undefined;
  assert.equal((await fixture.follow(prover)).length, 1);
});

test("GRANDPA prover: one block's bad justification does not keep another's from being taken", async (fixture) => {
  fixture.advance(2, 20);
  fixture.relay.alter = ({ method }, result) => {
    if (method !== "grandpa_proveFinality") return result;
    const proof = decodeStrict(finalityProofCodec, fromHex(String(result)), "FinalityProof");
    return toHex(finalityProofCodec.enc({ ...proof, justification: Uint8Array.of(1) }));
  };
  await fixture.submit(updatesOf(await fixture.prover().next(never)));
  assert.equal((await fixture.fetchTrusted()).latestHeight % 8, 0);
});

Deno.test("GRANDPA prover: a node that is wrong about the hub's head is named", async () => {
  await using fixture = await Fixture.start(sparse);
  fixture.advance();
  const prover = fixture.prover();
  const lieWith = (change: (nodes: readonly unknown[]) => readonly unknown[]): void => {
    fixture.relay.alter = ({ method }, result) =>
      method === "state_getReadProof"
        ? changed(result, ["proof"], (nodes) => Array.isArray(nodes) ? change(nodes) : nodes)
        : result;
  };
  let count = 0;
  lieWith((nodes) => {
    count = nodes.length;
    return nodes;
  });
  const honest = await prover.next(never);
  assert.equal(honest.kind, "updates");
  assert.ok(count > 2);
  for (let at = 0; at < count; at++) {
    lieWith((nodes) => nodes.map((node, index) => index === at ? turned(node) : node));
    assert.equal(await ruleOf(prover.next(never)), "bad_data heads_proof", `node ${at}`);
    lieWith((nodes) => nodes.filter((_, index) => index !== at));
    assert.equal(await ruleOf(prover.next(never)), "bad_data heads_proof", `without node ${at}`);
  }
  lieWith(() => []);
  assert.equal(await ruleOf(prover.next(never)), "bad_data heads_proof");
});

Deno.test("GRANDPA prover: a first state is not made of a set with an authority twice, or of what is unreadable", async () => {
  await using fixture = await Fixture.start(sparse);
  const prover = fixture.prover();
  const code = async (): Promise<string> => {
    try {
      await prover.fetchInitialState(never);
    } catch (error) {
      assert.ok(error instanceof ProverFault, String(error));
      assert.match(error.endpoint ?? "", /127\.0\.0\.1/);
      return error.code;
    }
    return "made";
  };
  assert.equal(await code(), "made");
  fixture.relay.alter = ({ method }, result) => {
    if (method !== "state_call") return result;
    const bytes = fromHex(String(result));
    bytes.copyWithin(1, 41, 81);
    return toHex(bytes);
  };
  assert.equal(await code(), "bad_data");
  fixture.relay.alter = ({ method }, result) => method === "state_call" ? "0x0801" : result;
  assert.equal(await code(), "bad_data");
  fixture.relay.alter = ({ method }, result) => method === "state_getStorage" ? "0x01" : result;
  assert.equal(await code(), "bad_data");
});

test("GRANDPA prover: a parachain without a head is a matter of the configuration, not of the node", async (fixture) => {
  fixture.advance();
  const paraIds = [4009, 4242];
  const outcome = await fixture.prover({ paraIds }).next(never).catch((error: unknown) => error);
  assert.ok(outcome instanceof ProverFault);
  assert.equal(outcome.code, "not_served");
  assert.match(outcome.detail, /^one of the parachains 4009, 4242 has no head .*para_ids$/);
});
