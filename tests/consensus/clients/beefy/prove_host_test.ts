/** Proofs of the hub that an operator asks for, for a host with the live client: tried, and sent. */
import assert from "node:assert/strict";
import { type ProofResult, proveClient } from "../../../../src/consensus/commands/prove_now.ts";
import type { ObservedUpdate } from "../../../../src/consensus/poll_loop.ts";
import { CommandRefusal } from "../../../../src/core/commands/command.ts";
import { deliveryTo, type FollowingHost, onFixture, relay, type RelayerOptions } from "./fixture.ts";
import { ProvenHub } from "./proven_hub.ts";
import { withMethods } from "../../../support/with_methods.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

const signal = new AbortController().signal;

/** An operator who asks one relayer again and again. */
function operator(hub: ProvenHub, target: FollowingHost, options: RelayerOptions = {}): {
  prove(isDryRun: boolean): Promise<ProofResult>;
  readonly updates: readonly ObservedUpdate[];
} {
  const updates: ObservedUpdate[] = [];
  const observer = {
    noteUpdate: (_: unknown, update: ObservedUpdate) => void updates.push(update),
    notePoll: () => {},
  };
  const { delivery, clock } = deliveryTo(hub, target, options);
  const prove = (isDryRun: boolean): Promise<ProofResult> =>
    proveClient({ clock, observer }, { client: delivery, isDryRun }, signal);
  return { prove, updates };
}

test("prove to a host: a dry run says what would be sent and its cost, and sends nothing", async ({ hub, target }) => {
  const { prove, updates } = operator(hub, target);
  for (let each = 0; each < 4; each++) await hub.rotate();
  const tried = await prove(true);
  assert.deepEqual([tried.outcome, tried.updates, tried.hasMore], ["possible", 3, true]);
  const set = (await target.state()).current.id;
  assert.match(
    tried.summary ?? "",
    new RegExp(`^3 rotations to authority set ${set + 3n}, relay chain block \\d+; `),
  );
  assert.ok(tried.bytes > 1_000 && Number(tried.height) > 0);
  assert.equal(tried.cost?.isPaid, false);
  assert.ok(Number(tried.cost.gas) > 100_000 && Number(tried.cost.native) > 0);
  assert.equal(await target.sent(), 0);
  assert.deepEqual(updates, []);
});

test("prove to a host: what it lacks is sent, part by part, and then there is nothing to prove", async ({ hub, target }) => {
  const { prove, updates } = operator(hub, target);
  for (let each = 0; each < 4; each++) await hub.rotate();
  const first = await prove(false);
  assert.deepEqual([first.outcome, first.updates, first.cost?.isPaid], ["accepted", 3, true]);
  assert.match(first.transaction ?? "", /^0x[0-9a-f]{64}$/);
  assert.match(first.text, /^EVM-31337 accepted it in block \d+\.$/);
  assert.equal((await prove(false)).updates, 1);
  assert.deepEqual(await target.state(), hub.state);
  const idle = await prove(false);
  assert.deepEqual([idle.outcome, idle.text, idle.updates], [
    "nothing",
    "Nothing to prove: the hub has accepted nothing newer.",
    0,
  ]);
  const height = await hub.proveMessageTo(target.stateMachine);
  const messages = await prove(false);
  assert.deepEqual([messages.outcome, messages.height], ["accepted", String(height)]);
  assert.match(messages.summary ?? "", /, a block with messages; the host knows block \d+ of the hub$/);
  assert.equal(await target.sent(), 3);
  assert.deepEqual(
    updates.map(({ kind, result }) => [kind, result]),
    Array(3).fill(["hub_proofs", "accepted"]),
  );
});

test("prove to a host: what maximum_daily_loss does not cover is not signed, and the relayer warns of it", async ({ hub, target }) => {
  for (let each = 0; each < 4; each++) await hub.rotate();
  const cost = await operator(hub, target).prove(true);
  const micro = BigInt(Math.ceil(Number(cost.cost?.native) * 1e6));
  const poor = await operator(hub, target, { maxLossMicroUsd: micro / 2n }).prove(false);
  assert.equal(poor.outcome, "refused");
  assert.match(poor.text, /maximum_daily_loss: 0 of 0\.\d+ dollars are spent or under way within 24 hours/);
  assert.equal(await target.sent(), 0);
  await using relayer = relay(hub, target, { maxLossMicroUsd: micro / 2n });
  await relayer.until("the warning", () => relayer.log.linesOf("loss_limit_reached").length === 1);
});

test("prove to a host: what stands in the way is said, and nothing is sent", async ({ hub, target }) => {
  await hub.rotate();
  const refused = async (options: RelayerOptions, expected: RegExp): Promise<void> => {
    const { prove } = operator(hub, target, options);
    await assert.rejects(
      prove(false),
      (error) => error instanceof CommandRefusal && expected.test(error.message),
    );
  };
  await refused({
    chain: (chain) =>
      withMethods(chain, {
        check: () =>
          Promise.resolve([{
            chain: "EVM-31337",
            check: "chain_id",
            result: "failed",
            found: "it serves EVM-5",
          }]),
      }),
  }, /^No update of KUSAMA-4009 on EVM-31337: it serves EVM-5\.$/);
  await refused({
    chain: (chain) =>
      withMethods(chain, {
        hubClient: withMethods(chain.hubClient, {
          fetchConsensusView: async (of, signal) => ({
            ...await chain.hubClient.fetchConsensusView(of, signal),
            isFrozen: true,
          }),
        }),
      }),
  }, /: the host is frozen and accepts nothing until it is unfrozen\.$/);
  hub.evicted.add(hub.state.current.id - 1n);
  hub.evicted.add(hub.state.current.id);
  await hub.rotate();
  await refused({}, /: the hub keeps no rotation to set \d+ any more, /);
  hub.evicted.clear();
  hub.isWithheld = true;
  await refused({}, /: hub\.example\.org does not have the bytes of the rotation to set \d+: /);
  assert.equal(await target.sent(), 0);
});

test("prove to a host: a transaction that the chain would refuse is not sent", async ({ hub, target }) => {
  await hub.rotate();
  const refusal = { code: "bad_proof", detail: "InvalidProof()" } as const;
  const { prove } = operator(hub, target, {
    chain: (chain) =>
      withMethods(chain, {
        simulator: { simulate: () => Promise.resolve({ kind: "refused", refusal }) },
      }),
  });
  const tried = await prove(true);
  assert.deepEqual([tried.outcome, tried.cost], ["refused", undefined]);
  assert.equal(tried.text, "EVM-31337 would refuse it: bad_proof: InvalidProof()");
  assert.equal((await prove(false)).text, "EVM-31337 refused it: bad_proof: InvalidProof()");
  assert.equal(await target.sent(), 0);
});
