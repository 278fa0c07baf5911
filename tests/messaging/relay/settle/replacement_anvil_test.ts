import assert from "node:assert/strict";
import { ONE_DOLLAR_27 } from "../../../../src/core/evm/native_price.ts";
import type { EvmChain } from "../../../../src/core/chains/evm/evm_chain.ts";
import type { Ledger, SubmissionRow } from "../../../../src/messaging/ledger/ledger.ts";
import type { Message } from "../../../../src/core/ismp/message.ts";
import { MAX_REPLACEMENTS, STUCK_AFTER_MS } from "../../../../src/core/chains/replacement.ts";
import type { RelayDeps, RelaySettings } from "../../../../src/messaging/relay/leg.ts";
import { toMessageRow } from "../../../../src/messaging/relay/messages.ts";
import { settleAll } from "../../../../src/messaging/relay/settle/settle_worker.ts";
import {
  chainOf,
  deliveryOf,
  hub,
  never,
  postTo,
  proveFromHub,
  signed,
  withHost,
} from "../../../core/chains/evm/chain_fixture.ts";
import type { IsmpHost } from "../../../../devnet/evm/deploy.ts";
import { type Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { countReceived } from "../../../../devnet/evm/host_admin.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";
import { openMemoryLedger } from "../../../support/ledger.ts";

/** A journalled delivery that waits in the pool of a node that mines only when told to. */
interface Waiting {
  readonly host: IsmpHost;
  readonly chain: EvmChain;
  readonly ledger: Ledger;
  readonly message: Message;
  readonly log: RecordedLog;
  /** Lets the patience pass, then settles. */
  readonly patience: () => Promise<void>;
  readonly settle: () => Promise<void>;
  /** Everything at the nonce, oldest first; below, its kind and state. */
  readonly rows: () => SubmissionRow[];
  readonly states: () => string[];
}

async function waiting(host: IsmpHost, transport?: Fetch): Promise<Waiting> {
  const { chain } = chainOf(host, undefined, {}, transport);
  const message = postTo(host, 1n);
  const submission = await signed(chain, deliveryOf([message], await proveFromHub(host, [message], 10n)));
  await host.node.setAutomine(false);
  const clock = new FakeClock();
  const ledger = openMemoryLedger({ clock });
  const target = chain.id.stateMachine;
  ledger.messages.record(
    toMessageRow(message, { source: hub.stateMachine, target }, { seenAtHeight: 1n, state: "ready" }),
  );
  ledger.messages.transition(message.commitment, target, { to: "submitted" });
  const { commitment } = message;
  const items = [{ commitment, requestCommitment: commitment, target }];
  const id = ledger.submissions.record({
    submission,
    kind: "delivery",
    items,
    legSource: hub.stateMachine,
  });
  assert.deepEqual(await chain.sender.broadcast(submission, never), { kind: "sent" });
  ledger.submissions.update(id, { state: "broadcast" });
  const log = new RecordedLog();
  const deps: RelayDeps = { ledger, clock, random: seededRandomness(1), log };
  const settings: RelaySettings = {
    hub: hub.stateMachine,
    moduleFilter: undefined,
    configured: new Set(),
    retryFrequencySec: undefined,
    retryModules: new Set(),
    reconciliationFrequencySec: 21_600,
    listedModules: () => new Map(),
    hubTokenPrice27: ONE_DOLLAR_27,
  };
  const settle = async (): Promise<void> =>
    void await settleAll({ ...deps, settings, target: chain, signal: never, replacement: chain.replacement });
  const patience = async (): Promise<void> => {
    await clock.advance(STUCK_AFTER_MS);
    await settle();
  };
  const rows = (): SubmissionRow[] =>
    ledger.submissions.listByNonce(target, submission.account ?? "", submission.nonce ?? 0n);
  const states = (): string[] => rows().map(({ kind, state }) => `${kind} ${state}`);
  return { host, chain, ledger, message, log, patience, settle, rows, states };
}

/** Transaction that the delivery record names; only that of a final block is recorded as final. */
function recordedHash({ ledger, chain, message }: Waiting): string | undefined {
  const record = ledger.deliveries.find(message.commitment, chain.id.stateMachine);
  return record?.isFinal ? record.txHash : undefined;
}

function messageState({ ledger, chain, message }: Waiting): string | undefined {
  return ledger.messages.find(message.commitment, chain.id.stateMachine)?.state;
}

/** Mines until what was mined first is final, and settles. */
async function mine({ host, settle }: Waiting): Promise<void> {
  await host.node.mine({ blocks: 1 });
  await settle();
  await host.node.mine({ blocks: 4 });
  await settle();
}

Deno.test("replacement on a node (F3): a delivery that waits is replaced for more, and mined once", async () => {
  await withHost(31470, async (host) => {
    const work = await waiting(host);
    await work.patience();
    assert.deepEqual(work.states(), ["delivery broadcast", "delivery broadcast"]);
    await mine(work);
    assert.deepEqual(work.states(), ["delivery replaced", "delivery final"]);
    assert.equal(messageState(work), "delivered");
    const [old, young] = work.rows();
    assert.ok((young?.submission.gasPriceWei ?? 0n) > (old?.submission.gasPriceWei ?? 0n));
    assert.deepEqual([young?.replaces, recordedHash(work)], [old?.id, young?.submission.hash]);
    assert.deepEqual(work.log.events("warn"), []);
    assert.equal(await countReceived(host), 1n);
  });
});

Deno.test("replacement on a node (F3): the original is mined after the replacement was journalled", async () => {
  await withHost(31471, async (host) => {
    const work = await waiting(host);
    const { chain } = work;
    const broadcast = chain.sender.broadcast.bind(chain.sender);
    chain.sender.broadcast = async (...args) => {
      await host.node.mine({ blocks: 1 });
      return await broadcast(...args);
    };
    await work.patience();
    chain.sender.broadcast = broadcast;
    assert.deepEqual(work.states(), ["delivery broadcast", "delivery signed"]);
    await mine(work);
    assert.deepEqual(work.states(), ["delivery final", "delivery replaced"]);
    assert.equal(messageState(work), "delivered");
    assert.equal(recordedHash(work), work.rows()[0]?.submission.hash);
    assert.equal(await countReceived(host), 1n);
    assert.deepEqual(work.log.events("warn"), []);
  });
});

Deno.test("replacement on a node (F3): the last step is a cancelling transfer, which gives the message back", async () => {
  await withHost(31472, async (host) => {
    const work = await waiting(host);
    for (let turn = 0; turn < MAX_REPLACEMENTS + 1; turn++) await work.patience();
    assert.deepEqual(work.states(), [...Array(4).fill("delivery broadcast"), "cancel broadcast"]);
    await mine(work);
    assert.deepEqual(work.states(), [...Array(4).fill("delivery replaced"), "cancel final"]);
    assert.equal(messageState(work), "ready");
    assert.equal(await countReceived(host), 0n);
  });
});

/** Answers nonces that are too high by this much while it is told to. */
function countingTooHigh(by: bigint): { readonly transport: Fetch; isWrong: boolean } {
  const state = {
    isWrong: true,
    transport: async (...[url, init]: Parameters<Fetch>): ReturnType<Fetch> => {
      const response = await platformFetch(url, init);
      if (!state.isWrong || !String(init?.body).includes("eth_getTransactionCount")) return response;
      const listOf = (value: unknown): readonly Record<string, unknown>[] => [value].flat().map(Object);
      const calls = new Map(listOf(JSON.parse(String(init?.body))).map(({ id, method }) => [id, method]));
      const answers = listOf(await response.json()).map((answer) =>
        calls.get(answer["id"]) === "eth_getTransactionCount"
          ? { ...answer, result: `0x${(BigInt(String(answer["result"])) + by).toString(16)}` }
          : answer
      );
      return Response.json(calls.size === 1 ? answers[0] : answers);
    },
  };
  return state;
}

Deno.test("replacement on a node (F18): what was signed 400 nonces too high is signed again, and nothing is paid for the gap", async () => {
  await withHost(31473, async (host) => {
    const lying = countingTooHigh(400n);
    const work = await waiting(host, lying.transport);
    const { chain, message } = work;
    lying.isWrong = false;
    const before = await chain.replacement.fetchNonces(never);
    await work.patience();
    assert.deepEqual([work.states(), messageState(work)], [["delivery dropped"], "ready"]);
    await host.node.setAutomine(true);
    const again = await signed(chain, deliveryOf([message], await proveFromHub(host, [message], 11n)));
    assert.equal(again.nonce, before.latest);
    assert.deepEqual(await chain.sender.broadcast(again, never), { kind: "sent" });
    await mine(work);
    assert.equal(await countReceived(host), 1n);
    assert.equal((await chain.replacement.fetchNonces(never)).latest, before.latest + 1n);
  });
});
