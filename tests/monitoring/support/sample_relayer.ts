/** A relayer with something of everything on its status page, part of it hostile. */
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import { parseStateMachine } from "../../../src/core/ismp/state_machine.ts";
import type { RpcFaultCode } from "../../../src/core/rpc/call.ts";
import type { ObservedRequest } from "../../../src/core/rpc/observed_endpoint.ts";
import { RelayWatch } from "../../../src/messaging/status/relay_watch.ts";
import { connectionsOf } from "../../messaging/status/watched_chains.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { type Ledger, openMemoryLedger } from "../../support/ledger.ts";
import {
  bsc,
  ethereum,
  hashOf,
  hub,
  itemOf,
  newDelivery,
  newMessage,
  newSubmission,
} from "../../support/ledger_rows.ts";

/** Text that a chain or node may send. */
export const HOSTILE =
  `<script>document.title = "owned"</script><img src="x" onerror="document.title='owned'">` +
  `'"&\u202e${"A".repeat(300)}`;

const MINUTE_MS = 60_000;

/** The relayer's watch, to be served, and its ledger. */
export interface SampleRelayer {
  readonly watch: RelayWatch;
  readonly ledger: Ledger;
  readonly clock: FakeClock;
}

/** Makes the relayer. */
export async function makeSampleRelayer(): Promise<SampleRelayer> {
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5));
  const watch = new RelayWatch(clock, new ChainNames([{ section: "ethereum", stateMachine: ethereum }]));
  const { checks } = watch;
  checks.update([
    {
      chain: ethereum,
      check: "host",
      result: "failed",
      found: `The host is ${HOSTILE}`,
      advice: "Correct it",
    },
    { chain: ethereum, endpoint: "down.example", check: "endpoint", result: "failed", found: "No answer" },
    { chain: hub, check: "node", result: "warning", found: "Its runtime is new", advice: "Update" },
    { chain: hub, check: "signer", result: "ok", found: "fine" },
  ], clock.now());
  const opened = openMemoryLedger({ clock });
  const connections = watch.observe(connectionsOf(clock));
  const ledger = watch.open(opened, connections);
  await readAll(connections);
  noteRequests(watch, clock);
  ledger.transaction(() => undefined);
  await clock.advance(3 * 60 * MINUTE_MS);
  noteRequests(watch, clock);
  await addOpenMessages(ledger, clock);
  addMoney(ledger);
  for (const level of ["warn", "error"] as const) {
    watch.noteWarning({
      atMs: clock.now() - 90_000,
      level,
      event: "message_changed.held",
      text: `EVM-1 -> POLKADOT-3367: Simulation failed ${HOSTILE}`,
    });
  }
  await clock.advance(MINUTE_MS);
  return { watch, ledger, clock };
}

/** Reads what a relayer reads of its chains. */
async function readAll({ hub, chains }: ReturnType<typeof connectionsOf>): Promise<void> {
  const { signal } = new AbortController();
  for (const { chain } of chains) {
    await chain.reads.fetchView(hub.id, signal);
    await hub.reads.fetchView(chain.id, signal);
    await chain.gas?.fetchBalance(signal);
    await chain.gas?.fetchGasQuote(signal);
    await chain.fees.fetchFees([], signal);
  }
}

function noteRequests(watch: RelayWatch, clock: FakeClock): void {
  const note = (endpointHost: string, outcome: "ok" | RpcFaultCode, more: Partial<ObservedRequest>): void =>
    watch.endpoints.noteRequest({
      ...{ chain: ethereum, endpointHost, calls: [{ method: "eth_call", outcome }], tookMs: 123 },
      ...more,
    });
  note("ethereum-mainnet.node-provider.example:8545", "ok", { head: 24_000_123n, final: 24_000_059n });
  note("behind.example", "ok", { head: 24_000_100n, final: 24_000_027n });
  note("down.example", clock.now() % 2 === 0 ? "timeout" : "throttled", {});
  note("signer.example:9000", "ok", { role: "signer", tookMs: 12 });
  note("hub.example", "ok", { chain: hub, head: 9_000_000n, final: 8_999_998n, tookMs: 40 });
}

async function addOpenMessages(ledger: Ledger, clock: FakeClock): Promise<void> {
  ledger.cursors.advance(ethereum, hub, 24_000_100n);
  ledger.cursors.advance(hub, ethereum, 8_999_998n);
  for (const number of [1, 2, 3]) {
    ledger.messages.record(newMessage(number));
    await clock.advance(MINUTE_MS);
    const to = number === 2 ? "delivered_by_other" as const : "delivered" as const;
    ledger.messages.transition(hashOf(number), hub, { to, reason: "handled_by_us" });
  }
  ledger.messages.record(newMessage(4, { state: "held", reason: "waiting_for_update" }));
  ledger.messages.record(newMessage(5, { state: "held", reason: "simulation_failed", detail: HOSTILE }));
  ledger.messages.record(newMessage(6, { source: hub, target: ethereum, state: "held", reason: "unfunded" }));
  const other = parseStateMachine("SUBSTRATE-cere");
  ledger.messages.record(newMessage(7, { source: other, state: "held", reason: "source_not_accepted" }));
  await clock.advance(20 * MINUTE_MS);
  ledger.messages.record(newMessage(8));
  ledger.submissions.record({
    submission: newSubmission(1, { chain: ethereum }),
    kind: "delivery",
    items: [{ ...itemOf(6), target: ethereum }],
  });
}

function addMoney(ledger: Ledger): void {
  for (const number of [1, 2]) ledger.deliveries.record(newDelivery(number, { fee: 1_500_000n }));
  const id = ledger.submissions.record({
    submission: newSubmission(9, { chain: ethereum, gasPriceWei: 10n ** 9n, gasLimit: 10n ** 6n }),
    kind: "delivery",
    items: [{ ...itemOf(9), target: ethereum }],
  });
  ledger.submissions.update(id, { state: "included", block: { height: 5n, hash: hashOf(5) } });
  const gas = { gasUsed: 900_000n, gasPriceWei: 10n ** 12n, dataCostWei: 0n };
  ledger.spending.note(id, { result: "reverted", gas, price27: 10n ** 27n, revenueUsd18: 0n });
  ledger.withdrawals.record({
    chain: bsc,
    address: new Uint8Array(20),
    nonce: 1n,
    beneficiary: undefined,
    amount: 123_456_789n,
    hubBlock: 5n,
    state: "requested",
  });
}
