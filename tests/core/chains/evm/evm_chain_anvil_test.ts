import assert from "node:assert/strict";
import type { Chain } from "../../../../src/core/chains/port.ts";
import type { ProofVerifier } from "../../../../src/core/chains/proofs.ts";
import type { Delivery } from "../../../../src/core/chains/submission.ts";
import { concatBytes, fromHex, type Hex, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { requestSenderSlot } from "../../../../src/core/evm/host_storage.ts";
import type { Message } from "../../../../src/core/ismp/message.ts";
import { evmStateProofCodec } from "../../../../src/core/ismp/proof.ts";
import {
  evmStateMachine,
  parseStateMachine,
  type StateMachineId,
} from "../../../../src/core/ismp/state_machine.ts";
import { decodeStrict } from "../../../../src/core/encoding/scale.ts";
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { DEVNET_ACCOUNTS } from "../../../../devnet/evm/accounts.ts";
import { startAnvil } from "../../../../devnet/evm/anvil.ts";
import { readEthereumState } from "../../../../devnet/hub/verifiers/ethereum_state.ts";
import {
  countReceived,
  freezeHost,
  proveHub,
  sendGet,
  sendPings,
  setChallengePeriod,
  vetoHub,
} from "../../../../devnet/evm/host_admin.ts";
import {
  chainOf,
  chainUnderTest,
  deliveryOf,
  hub,
  includedOutcome,
  never,
  onFixture,
  postTo,
  proveFromHub,
  withHost,
} from "./chain_fixture.ts";
import { catchFault, faultWith } from "../../../support/rpc_faults.ts";
import { accepted, signed } from "../../../support/chain_calls.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

const relayer = fromHex(DEVNET_ACCOUNTS.relayer.address);
const target: ProofVerifier = {
  id: hub,
  capabilities: { hubProofs: "state" },
  reads: { fetchStateRoot: () => Promise.resolve(undefined) },
};
const noHints = { nonceAtLeast: undefined };

test("evm chain: what was dispatched is read as events and proved so that the hub's verifier takes it", async ({ host, chain, requests }) => {
  const before = await chain.reads.fetchHeight(never);
  await sendPings(host, { dest: "EVM-31402", to: host.addresses.ping, count: 5 });
  await sendGet(host, {
    dest: "EVM-31402",
    height: 7n,
    keys: ["0x2222222222222222222222222222222222222222"],
  });
  const height = await chain.reads.fetchHeight(never);

  requests.count = 0;
  const events = await chain.events.fetchEvents(before + 1n, height, never);
  assert.equal(requests.count, 1);
  const messages = events.flatMap((event): Message[] => event.kind === "message" ? [event.message] : []);
  assert.deepEqual(messages.map(({ kind }) => kind), ["post", "post", "post", "post", "post", "get"]);
  assert.ok(events.every(({ at }) => at.height > before && at.transaction !== undefined));

  requests.count = 0;
  const proof = await chain.proofs.proveMessages(messages, { height, target }, never);
  assert.equal(requests.count, 1);
  assert.equal(proof.kind, "state");
  assert.deepEqual(proof.height, { id: chain.id, height });
  const block = await host.reader.getBlock({ blockNumber: height });
  const subject = {
    stateRoot: toHash256(block.stateRoot),
    host: fromHex(host.addresses.host),
    proof: decodeStrict(evmStateProofCodec, proof.proof, "EvmStateProof"),
  };
  const keys = messages.map(({ commitment }) => fromHex(requestSenderSlot(commitment)));
  assert.ok(![...readEthereumState({ ...subject, keys }).values()].includes(undefined));

  const tooEarly = await catchFault(
    chain.proofs.proveMessages(messages, { height: before, target }, never),
  );
  assert.equal(tooEarly.code, "not_found");
  await assert.rejects(
    chain.proofs.proveMessages(messages, { height: height + 50n, target }, never),
    faultWith("pruned"),
  );
  await assert.rejects(chain.events.fetchEvents(before, height + 50n, never), faultWith("lagging"));
  assert.deepEqual(await chain.events.fetchEvents(1n, 0n, never), []);
});

/** An endpoint that tells of an old block whenever it is asked for a newer one: all that it says fits together. */
function stalledAt(url: string, old: bigint): Fetch {
  return (to, init) => {
    if (!to.startsWith(url)) return platformFetch(to, init);
    const body = String(init.body).replace(
      /("eth_getProof","params":\[[^\]]*\[[^\]]*\],|"eth_getBlockByNumber","params":\[)"0x[0-9a-f]+"/g,
      (_, head: string) => `${head}"0x${old.toString(16)}"`,
    );
    return platformFetch(to, { ...init, body });
  };
}

test("evm chain: a proof that leads to another root than the hub's is refused, its endpoint named, the next asked", async ({ host }) => {
  const honest = chainOf(host).chain;
  const before = await honest.reads.fetchHeight(never);
  await sendPings(host, { dest: "EVM-31402", to: host.addresses.ping, count: 2 });
  const height = await honest.reads.fetchHeight(never);
  const events = await honest.events.fetchEvents(before + 1n, height, never);
  const messages = events.flatMap((event): Message[] => event.kind === "message" ? [event.message] : []);
  const stateRoot = toHash256((await host.reader.getBlock({ blockNumber: height })).stateRoot);
  const asked: bigint[] = [];
  const taker: ProofVerifier = {
    ...target,
    reads: {
      fetchStateRoot: (of) => {
        asked.push(of.height);
        return Promise.resolve(stateRoot);
      },
    },
  };
  const expected = await honest.proofs.proveMessages(messages, { height, target: taker }, never);
  assert.deepEqual(asked, [height]);

  const good = host.rpcUrl;
  const bad = good.replace("127.0.0.1", "localhost");
  const badHost = new URL(bad).host;
  const { chain, log } = chainOf(host, [bad, good], {}, stalledAt(bad, before));
  assert.deepEqual(await chain.proofs.proveMessages(messages, { height, target: taker }, never), expected);
  const [warning] = log.lines.filter(({ level }) => level === "warn");
  assert.deepEqual([warning?.event, warning?.fields.storedRoot], ["endpoint_data_invalid.proof", true]);
  assert.equal(warning?.fields.endpoint, badHost);

  const commitments = messages.map(({ commitment }) => commitment);
  const alone = chainOf(host, [bad], {}, stalledAt(bad, before)).chain;
  await assert.rejects(
    alone.proofs.proveFees(commitments, { height, stateRoot }, never),
    faultWith("malformed"),
  );
  const fault = await catchFault(alone.proofs.proveMessages(messages, { height, target: taker }, never));
  assert.deepEqual([fault.code, fault.where.endpointHost], ["malformed", badHost]);
});

test("evm chain: heights, times and the view of the hub are those of the contracts", async ({ host, chain, requests }) => {
  requests.count = 0;
  const empty = await chain.reads.fetchView(hub, never);
  assert.equal(requests.count, 1);
  assert.equal(empty.isFrozen, false);
  assert.equal(empty.challengePeriodSec, 0n);
  assert.equal(await chain.reads.fetchUpdateTime({ id: hub, height: 77n }, never), undefined);

  await proveFromHub(host, [postTo(host, 1n)], 77n);
  await setChallengePeriod(host, 33n);
  await freezeHost(host, "incoming");
  const view = await chain.reads.fetchView(hub, never);
  assert.deepEqual({ ...view, nowSec: 0n }, {
    height: 77n,
    nowSec: 0n,
    challengePeriodSec: 33n,
    isFrozen: true,
  });
  const head = await chain.reads.fetchHeight(never);
  const time = await chain.reads.fetchUpdateTime({ id: hub, height: 77n }, never) ?? 0n;
  assert.ok(time > 0n && time <= await chain.reads.fetchBlockTime(head, never));
  await assert.rejects(chain.reads.fetchBlockTime(head + 9n, never), faultWith("lagging"));
  assert.equal(await chain.reads.fetchFinalHeight(never), head - 2n);
  await vetoHub(host, 77n);
  const events = await chain.events.fetchEvents(1n, await chain.reads.fetchHeight(never), never);
  assert.deepEqual(
    events.flatMap((event) =>
      event.kind === "updated" || event.kind === "vetoed"
        ? [[event.kind, event.stateMachine, event.height]]
        : []
    ).slice(-2),
    [["updated", hub.stateMachine, 77n], ["vetoed", hub.stateMachine, 77n]],
  );
});

test("evm chain: a hundred messages with a hub proof are delivered in five requests before the outcome is asked for", async ({ host, chain, requests }) => {
  const messages = Array.from({ length: 100 }, (_, nonce) => postTo(host, BigInt(nonce)));
  const delivery = deliveryOf(messages, await proveFromHub(host, messages, 100n));
  await chain.check(hub, never);
  await chain.gas.fetchGasQuote(never); // its first price is compared with others
  requests.count = 0;

  assert.ok((await chain.reads.fetchReceipts(messages, never)).every((receipt) => receipt === undefined));
  const simulation = await accepted(chain, delivery);
  assert.deepEqual(simulation.handled, messages.map(() => true));
  assert.ok(simulation.gasLimit > simulation.gasUsed && simulation.gasUsed > 1_000_000n);
  const signing = await chain.sender.sign(delivery, { simulation, ...noHints }, never);
  assert.equal(signing.kind, "signed");
  const { submission } = signing;
  assert.deepEqual(await chain.sender.broadcast(submission, never), { kind: "sent" });
  assert.equal(requests.count, 5);

  const outcome = await includedOutcome(chain, submission);
  assert.equal(outcome.succeeded, true);
  assert.equal(outcome.isFinal, false);
  assert.equal(outcome.refusal, undefined);
  assert.deepEqual(outcome.handled, messages.map(({ commitment }) => ({ commitment, relayer })));
  assert.equal(await countReceived(host), 100n);
  const receipts = await chain.reads.fetchReceipts(messages, never);
  assert.ok(receipts.every((receipt) => receipt !== undefined && toHex(receipt) === toHex(relayer)));
  const handled = await chain.events.fetchEvents(outcome.block.height, outcome.block.height, never);
  assert.deepEqual(handled.map((event) => event.kind), messages.map(() => "handled"));

  await host.node.mine({ blocks: 3 });
  assert.equal((await includedOutcome(chain, submission)).isFinal, true);
  // The same bytes again: the nonce is used, by themselves.
  assert.deepEqual(await chain.sender.broadcast(submission, never), { kind: "nonceUsed" });
});

test("evm chain: proofs that advance the host are distinguished from those that come second", async ({ host, chain }) => {
  const root = toHex(new Uint8Array(32).fill(1));
  const roots = { timestampSec: 1_700_000_000n, mmrRoot: root, childTrieRoot: root };
  // Signed while it is news, mined behind the same proof.
  const deliverTwice = async (proof: Uint8Array): Promise<readonly (boolean | undefined)[]> => {
    const delivery: Delivery = { steps: [{ kind: "consensus", proof }] };
    const simulation = await accepted(chain, delivery);
    const first = await signed(chain, delivery);
    const hints = { nonceAtLeast: (first.nonce ?? 0n) + 1n };
    const second = await chain.sender.sign(delivery, { simulation, ...hints }, never);
    assert.ok(second.kind === "signed");
    const advanced: (boolean | undefined)[] = [];
    for (const submission of [first, second.submission]) {
      await chain.sender.broadcast(submission, never);
      const outcome = await includedOutcome(chain, submission);
      assert.equal(outcome.succeeded, true);
      advanced.push(outcome.advancedClient);
    }
    const third = await chain.sender.sign(delivery, { simulation, ...noHints }, never);
    assert.deepEqual(third, { kind: "proofs_known", from: "blocks" });
    return advanced;
  };
  const height = fromHex(await proveHub(host, { ...roots, height: 10n }));
  assert.deepEqual(await deliverTwice(height), [true, false]);
  const rotation = fromHex(await proveHub(host, { ...roots, height: 10n, rotates: true }));
  assert.deepEqual(await deliverTwice(rotation), [true, false]);
});

test("evm chain: a callback that needs much gas gets it, although it would fail in silence with less", async ({ host, chain }) => {
  const burn = (gas: number): Uint8Array => {
    const amount = new Uint8Array(4);
    new DataView(amount.buffer).setUint32(0, gas);
    return concatBytes(new TextEncoder().encode("burn"), amount);
  };
  const messages = [postTo(host, 1n, { body: burn(1_400_000) }), postTo(host, 2n, { body: burn(300_000) })];
  const submission = await signed(chain, deliveryOf(messages, await proveFromHub(host, messages, 10n)));
  assert.ok((submission.gasLimit ?? 0n) < 4_000_000n);
  await chain.sender.broadcast(submission, never);
  const outcome = await includedOutcome(chain, submission);
  assert.deepEqual(
    outcome.handled.map(({ commitment }) => commitment),
    messages.map(({ commitment }) => commitment),
  );

  // More than any transaction of the chain may use: the callback fails, and the simulation sees it.
  const greedy = [postTo(host, 3n, { body: burn(17_000_000) })];
  const simulation = await chain.simulator.simulate(
    deliveryOf(greedy, await proveFromHub(host, greedy, 11n)),
    never,
  );
  assert.notDeepEqual(simulation.kind === "accepted" ? simulation.handled : [], [true]);
});

test("evm chain: a message that another relayer delivers first is noticed when signing, or explains the revert", async ({ host, chain }) => {
  const competitor = chainUnderTest([host.rpcUrl], {
    ismpHost: host.addresses.host,
    stateMachine: evmStateMachine(host.chainId),
  }).chain;
  const messages = [postTo(host, 1n), postTo(host, 2n)];
  const delivery = deliveryOf(messages, await proveFromHub(host, messages, 10n));
  const simulation = await accepted(chain, delivery);
  const late = await signed(chain, delivery);
  // The competitor uses the same account here, so ours goes one nonce higher and reverts.
  const first = await signed(competitor, delivery);
  const second = await chain.sender.sign(
    delivery,
    { simulation, nonceAtLeast: (late.nonce ?? 0n) + 1n },
    never,
  );
  assert.equal(second.kind, "signed");
  assert.equal(second.submission.nonce, (first.nonce ?? 0n) + 1n);
  await competitor.sender.broadcast(first, never);
  await includedOutcome(competitor, first);

  const overtaken = await chain.sender.sign(delivery, { simulation, ...noHints }, never);
  assert.equal(overtaken.kind, "overtaken");
  assert.deepEqual(overtaken.receipts.map((receipt) => receipt && toHex(receipt)), [
    toHex(relayer),
    toHex(relayer),
  ]);

  await chain.sender.broadcast(second.submission, never);
  const outcome = await includedOutcome(chain, second.submission);
  assert.equal(outcome.succeeded, false);
  assert.deepEqual(outcome.handled, []);
  assert.deepEqual(outcome.refusal, { code: "duplicate", detail: "DuplicateMessage", step: 0 });
});

Deno.test("evm chain: the start-up check is content with a right configuration and names what is wrong", async () => {
  await using stranger = await startAnvil({ chainId: 31499 });
  await using fresh = await startAnvil({ chainId: 31410 });
  await withHost(31410, async (host) => {
    const right = chainOf(host);
    const [described, ...more] = await right.chain.check(hub, never);
    assert.match(`${described?.result}: ${described?.found}`, /^ok: host .* fee token .* with 18 decimals$/);
    assert.deepEqual([more, right.requests.count], [[], 2]);

    const [good, absent] = [host.rpcUrl, "http://127.0.0.1:1"];
    const stateMachine = evmStateMachine(host.chainId);
    const hostAt = (ismpHost: Hex): Chain => chainUnderTest([good], { stateMachine, ismpHost }).chain;
    const at = (...urls: readonly string[]): Chain => chainOf(host, urls).chain;
    const strange = `127.0.0.1:${stranger.port}: serves EVM-31499, not EVM-31410.*`;
    const other = { ...hub, stateMachine: parseStateMachine("POLKADOT-3367") };
    const rows: readonly (readonly [Chain, string, StateMachineId?])[] = [
      [at(stranger.rpcUrl, good), `warning,${strange}`],
      [at(stranger.rpcUrl), `failed,${strange}`],
      // A node that is not synced yet has none of the contracts.
      [at(fresh.rpcUrl, good), `warning,127.0.0.1:${fresh.port}: no contract at ismp_host.*`],
      [hostAt(`0x${"aa".padStart(40, "0")}`), "failed,no contract at ismp_host 0x0+aa.*"],
      [hostAt(toAddress(host.addresses.feeToken)), "failed,the contract at ismp_host .* is no ISMP host.*"],
      [right.chain, "failed,.*belongs to the hub KUSAMA-4009, not to POLKADOT-3367.*", other],
      [at(absent, good), "warning,127.0.0.1:1: does not answer: unreachable.*"],
    ];
    for (const [chain, expected, of = hub] of rows) {
      const found = await chain.check(of, never);
      const texts = found.filter(({ result }) => result !== "ok").map((row) =>
        `${row.result},${row.endpoint ? `${row.endpoint}: ` : ""}${row.found}`
      );
      assert.match(texts.join("\n"), new RegExp(`^${expected}$`));
    }
    await assert.rejects(at(absent).check(hub, never), faultWith("unreachable"));
  });
});
