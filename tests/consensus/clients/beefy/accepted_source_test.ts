/** Accepted proofs of the hub on their way to EVM hosts with the live client: what is sent, in which order, and what not. */
import assert from "node:assert/strict";
import type { HostConsensusView } from "../../../../src/core/chains/hub_client.ts";
import type { EventCode } from "../../../../src/core/telemetry/log.ts";
import type { HostChain } from "../../../../src/consensus/clients/beefy/host_delivery.ts";
import { onFixture, relay, seenWith, startHost } from "./fixture.ts";
import { ProvenHub } from "./proven_hub.ts";
import { parseAbi } from "viem";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { withMethods } from "../../../support/with_methods.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

test("beefy: a host that advances between poll and signature is noticed, and nothing is paid", async ({ hub, target }) => {
  await using competitor = relay(hub, target, { account: "relayer2" });
  await competitor.looks(1);
  let raced = 0;
  await using slow = relay(hub, target, {
    chain: (chain) =>
      withMethods(chain, {
        simulator: {
          simulate: async (delivery, signal) => {
            const simulation = await chain.simulator.simulate(delivery, signal);
            raced++;
            await competitor.untilNewestSet();
            return simulation;
          },
        },
      }),
  });
  await hub.rotate();
  await competitor.untilNewestSet();
  await slow.looks(3);
  assert.equal(await target.sent(), 0);
  const told = slow.log.events("info").filter((event) => event === "proofs_overtaken.delivered");
  assert.equal(told.length, raced);
});

test("beefy: of two relayers that do not see each other's transactions one wastes gas, and reports it", async ({ hub, target }) => {
  await hub.rotate();
  await target.host.node.setAutomine(false);
  const blind = seenWith(({ state }) => ({
    pendingHeight: state?.latestHeight ?? 0n,
    pendingSetId: state?.current.id ?? 0n,
  }));
  await using one = relay(hub, target, { chain: blind });
  await using two = relay(hub, target, { chain: blind, account: "relayer2" });
  await one.until("both transactions", async () => (await target.host.node.getTxpoolStatus()).pending === 2);
  await target.host.node.mine({ blocks: 1 });
  const told = (code: EventCode): number =>
    [one, two].flatMap(({ log }) => log.events("info")).filter((event) => event === code).length;
  await one.until(
    "both have noticed",
    () =>
      told("proofs_delivered") === 1 &&
      told("proofs_overtaken.wasted") === 1,
  );
});

test("beefy: another relayer's proof in the node's pool is waited for", async ({ hub, target }) => {
  await hub.rotate();
  await target.host.node.setAutomine(false);
  await using competitor = relay(hub, target, { account: "relayer2" });
  const inPool = async (): Promise<boolean> => (await target.host.node.getTxpoolStatus()).pending > 0;
  await competitor.until("the competitor's transaction", inPool);
  await using patient = relay(hub, target);
  await patient.looks(3);
  assert.equal((await target.host.node.getTxpoolStatus()).pending, 1);
  assert.ok(patient.log.events("debug").includes("proofs_overtaken.pending"));
  await target.host.node.mine({ blocks: 1 });
  await patient.looks(2);
  assert.deepEqual(await target.state(), hub.state);
  assert.equal(await target.sent(), 0);
});

test("beefy: another relayer's proof that stays in a pool counts as stuck after ten looks", async ({ hub, target }) => {
  await hub.rotate();
  const stuck = seenWith(() => ({ pendingHeight: 1n << 40n, pendingSetId: 1n << 40n }));
  await using relayer = relay(hub, target, { chain: stuck });
  await relayer.untilNewestSet();
  const told = relayer.log.events("debug").filter((event) => event === "proofs_overtaken.pending");
  assert.equal(told.length, 10);
});

test("beefy: while an endpoint does not show our last delivery nothing is sent", async ({ hub, target }) => {
  await hub.rotate();
  let first: HostConsensusView | undefined;
  const lagging = seenWith((view) => first ??= view);
  await using relayer = relay(hub, target, { chain: lagging });
  await relayer.untilNewestSet();
  await relayer.looks(3);
  assert.deepEqual(relayer.log.events("info"), ["proofs_gas_spent", "proofs_delivered"]);
});

test("beefy: a false proof is found here and named with its node, and nothing is paid", async ({ hub, target }) => {
  const height = await hub.proveMessageTo(target.stateMachine);
  const spoil = (proof: Uint8Array): Uint8Array => proof.with(700, (proof[700] ?? 0) ^ 1);
  hub.spoilNewest(spoil);
  await using relayer = relay(hub, target);
  await relayer.until("a refusal", () => relayer.log.events("error").length > 0);
  const [line] = relayer.log.lines.filter(({ level }) => level === "error");
  assert.match(String(line?.fields.error), /hub\.example\.org.*does not verify on the host's state/);
  assert.equal(await target.sent(), 0);
  hub.spoilNewest(spoil);
  await relayer.until("the height", async () => await target.hubHeight() === height);
});

test("beefy: a rotation that the hub no longer keeps is reported once as unavailable", async ({ hub, target }) => {
  await hub.rotate();
  const first = hub.state.current.id;
  await hub.rotate();
  hub.evicted.add(first);
  await using relayer = relay(hub, target);
  await relayer.looks(3);
  assert.deepEqual(relayer.log.events("error"), ["proofs_unavailable.gap"]);
  const { explanation } = relayer.log.linesOf("proofs_unavailable.gap")[0]?.fields ?? {};
  assert.match(String(explanation), new RegExp(`\\bset ${first}\\b`));
  assert.equal(await target.sent(), 0);
});

for (const what of ["withheld", "of a later kind"]) {
  test(`beefy: while the newest accepted proof is ${what}, the next older one is delivered`, async ({ hub, target }) => {
    const older = await hub.proveMessageTo(target.stateMachine);
    const newest = await hub.proveMessageTo(target.stateMachine);
    if (what === "withheld") hub.lacking.add(newest);
    else hub.spoilNewest((proof) => proof.with(0, 2));
    await using relayer = relay(hub, target);
    await relayer.until("the older height", async () => await target.hubHeight() === older);
    const named = what === "withheld" ? "proofs_unavailable.withheld" : "proofs_unavailable.unknown_kind";
    await relayer.until("what is missing is named", () => relayer.log.events("warn").includes(named));
    await relayer.looks(2);
    const warnings = relayer.log.events("warn");
    assert.equal(warnings.filter((event) => event === named).length, 1);
    assert.equal(await target.sent(), 1);
    if (what === "withheld") hub.lacking.clear();
    else hub.spoilNewest((proof) => proof.with(0, 0));
    await relayer.until("the newest height", async () => await target.hubHeight() === newest);
    assert.deepEqual(relayer.log.events("error"), []);
  });
}

test("beefy: a rotation of a kind that is not known yet is named, and no proof goes past it", async ({ hub, target }) => {
  await hub.rotate();
  hub.spoilRotation((proof) => proof.with(0, 2));
  await hub.proveMessageTo(target.stateMachine);
  await using relayer = relay(hub, target);
  await relayer.looks(2);
  assert.deepEqual(relayer.log.events("warn"), [
    "proofs_unavailable.unknown_kind",
    "proofs_unavailable.withheld",
  ]);
  const { explanation } = relayer.log.linesOf("proofs_unavailable.withheld")[0]?.fields ?? {};
  assert.match(String(explanation), /^the rotation to set \d+ is of a kind that this version does not know/);
  assert.equal(await target.sent(), 0);
});

Deno.test("beefy: a host whose authority sets have four fields follows rotations and heights", async () => {
  await using hub = await ProvenHub.start();
  await using target = await startHost(hub, { client: "apk" });
  await hub.rotate();
  await hub.rotate();
  const height = await hub.proveMessageTo(target.stateMachine);
  await using relayer = relay(hub, target);
  await relayer.until("the newest height", async () => await target.hubHeight() === height);
  assert.deepEqual((await target.state()).current, hub.state.current);
  assert.deepEqual([...relayer.log.events("warn"), ...relayer.log.events("error")], []);
});

test("beefy: a host whose client is no router gets nothing until it is one, and that is reported", async ({ hub, target }) => {
  await hub.rotate();
  const alone = await target.host.reader.readContract({
    address: target.host.addresses.consensusClient,
    abi: parseAbi(["function ecdsaBeefy() view returns (address)"]),
    functionName: "ecdsaBeefy",
  });
  let asked = 0;
  await using relayer = relay(hub, target, {
    chain: (chain) =>
      withMethods(chain, {
        hubClient: withMethods(chain.hubClient, {
          fetchClientKind: async (client, signal) =>
            await chain.hubClient.fetchClientKind(++asked === 1 ? toAddress(alone) : client, signal),
        }),
      }),
  });
  await relayer.untilNewestSet();
  await relayer.looks(1);
  assert.equal(asked, 2);
  assert.deepEqual(relayer.log.events("error"), ["host_unusable.other_client"]);
  assert.ok(relayer.log.events("info").includes("host_resumed"));
});

/** A chain whose node refuses transactions of such sizes, all of which are noted. */
function refusing(isTooLarge: (bytes: number) => boolean, sizes: number[]): (chain: HostChain) => HostChain {
  const refusal = { code: "too_large", detail: "oversized data: limit 131072" } as const;
  return (chain) =>
    withMethods(chain, {
      sender: withMethods(chain.sender, {
        broadcast: (submission, signal) => {
          sizes.push(submission.raw.length);
          if (!isTooLarge(submission.raw.length)) return chain.sender.broadcast(submission, signal);
          return Promise.resolve({ kind: "refused", refusal });
        },
      }),
    });
}

test("beefy: what a node refuses as too large goes in smaller parts, and the next ones begin with those", async ({ hub, target }) => {
  for (let session = 0; session < 6; session++) await hub.rotate();
  const sizes: number[] = [];
  await using relayer = relay(hub, target, { chain: refusing((bytes) => bytes >= (sizes[0] ?? 0), sizes) });
  await relayer.untilNewestSet();
  const [first = 0, ...others] = sizes;
  assert.ok(others.every((size) => size < first), `nothing as large as ${first} again: ${others.join(", ")}`);
  assert.deepEqual(relayer.log.events("error"), []);
});

test("beefy: a proof that fits into no transaction is named with what helps, and not sent again and again", async ({ hub, target }) => {
  await hub.rotate();
  const sizes: number[] = [];
  await using relayer = relay(hub, target, { chain: refusing(() => true, sizes) });
  await relayer.looks(1);
  assert.equal(sizes.length, 1);
  const [looked] = relayer.log.lines.filter(({ event }) => event === "poll_finished");
  assert.deepEqual(looked?.fields, { chain: target.stateMachine, result: "suspended", nextInMs: 600_000 });
  assert.deepEqual(relayer.log.events("error"), ["proofs_failed.too_large"]);
});
