import { consensusSettings } from "../../../../devnet/hub/pallets/consensus_verifiers.ts";
/** Polkadot Hub proved to the hub: filed as an EVM chain, dated by its slots, and newer when its host has traffic. */
import type { Log, LogFilter } from "../../../../src/core/chains/evm/rpc_schemas.ts";
import { hostEventTopics } from "../../../../src/core/evm/host_abi.ts";
import { faultOf } from "../../../support/rpc_faults.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import assert from "node:assert/strict";
import {
  hasTraffic,
  type IsmpHostReader,
} from "../../../../src/consensus/clients/parachain/parachain_prover.ts";
import type { ChainIdReport } from "../../../../src/core/chains/evm/endpoint_checks.ts";
import type { ProverFinding } from "../../../../src/consensus/prover.ts";
import { digestItem } from "../../../../devnet/hub/digest.ts";
import { catchProverFault, reasonOf, updatesOf } from "../../findings.ts";
import { Fixture, never, POLKADOT_HUB, polkadotHubHeader, SIBLING, SLOT_MS } from "./fixture.ts";

const FOLLOWING = { followed: [1000, SIBLING], slotMs: SLOT_MS };

const log: Log = {
  address: toAddress(new Uint8Array(20)),
  blockNumber: 12n,
  data: "0x",
  logIndex: 0n,
  topics: [],
  transactionHash: `0x${"02".repeat(32)}`,
};

/** A host whose traffic is what `has` says of the range that is asked for. */
function hostWith(
  has: (from: bigint, to: bigint, filter: LogFilter) => boolean | undefined,
  chainIds: readonly ChainIdReport[] = [],
): IsmpHostReader {
  const address = toAddress(new Uint8Array(20));
  const where = { chain: POLKADOT_HUB.stateMachine, endpointHost: "a.example", method: "eth_getLogs" };
  return {
    address,
    reader: {
      chain: POLKADOT_HUB.stateMachine,
      fetchChainIds: () => Promise.resolve(chainIds),
      fetchLogs: (filter, { from, to }) => {
        const hasLogs = has(from, to, filter);
        if (hasLogs === undefined) {
          return Promise.reject(new RpcFault("lagging", where));
        }
        return Promise.resolve(hasLogs ? [log] : []);
      },
    },
  };
}

Deno.test("Polkadot Hub: messages and receipts of its host are traffic, what the hub tells the host is none", async () => {
  const filters: LogFilter[] = [];
  const range = { from: 11n, to: 14n };
  for (const answer of [true, false, undefined]) {
    const host = hostWith((from, to, filter) => {
      assert.deepEqual({ from, to }, range);
      filters.push(filter);
      return answer;
    });
    assert.equal(await hasTraffic(host, range, never), answer, "an endpoint that is behind cannot tell");
    assert.equal(filters.at(-1)?.address, host.address);
  }
  for (const [name, topic] of Object.entries(hostEventTopics)) {
    const counts = /^(Post|Get)Request(Event|Handled|TimeoutHandled)$|^RequestFunded$/.test(name);
    assert.equal(filters[0]?.topics.includes(topic), counts, name);
  }
  const { reader, address } = hostWith(() => false);
  const down = { ...reader, fetchLogs: () => Promise.reject(faultOf("unreachable")) };
  await assert.rejects(hasTraffic({ address, reader: down }, range, never), { code: "unreachable" });
});

Deno.test("Polkadot Hub: its head is stored as an EVM chain's, with the time of its slot and the root of its state", async () => {
  await using fixture = await Fixture.start(FOLLOWING);
  const prover = fixture.ofPolkadotHub();
  assert.deepEqual(prover.commitmentId, POLKADOT_HUB);
  assert.deepEqual(await prover.check(never), []);
  const header = polkadotHubHeader(19_567_971, 74_456_948n);
  fixture.polkadotHub = header;
  fixture.advance();
  const finding = updatesOf(await prover.next(never));
  assert.equal(finding.height, 19_567_971n);
  await fixture.submit(fixture.hub, finding);
  const { reads } = fixture.connect(fixture.hub);
  assert.deepEqual(await reads.fetchCommitment({ id: POLKADOT_HUB, height: 19_567_971n }, never), {
    timestampSec: 74_456_948n * 24n,
    overlayRoot: `0x${"00".repeat(32)}`,
    stateRoot: header.stateRoot,
  });
  assert.equal(fixture.knownOfSibling, undefined, "the proof is of one parachain");
  assert.match(reasonOf(await prover.next(never)), /has no newer head$/);
});

Deno.test("Polkadot Hub: heads without messages are proved once in ten minutes, those with messages at once", async () => {
  await using fixture = await Fixture.start(FOLLOWING);
  let has: boolean | undefined = false;
  const asked: (readonly [bigint, bigint])[] = [];
  let laterSec = 0n;
  const prover = fixture.ofPolkadotHub({
    laterSec: () => laterSec,
    host: hostWith((from, to) => {
      asked.push([from, to]);
      return has;
    }),
  });
  const headed = async (number: number): Promise<ProverFinding> => {
    fixture.polkadotHub = polkadotHubHeader(number);
    fixture.advance();
    return await prover.next(never);
  };
  await fixture.submit(fixture.hub, updatesOf(await headed(10)));
  assert.deepEqual(asked, [], "the first head is worth it anyway");
  assert.match(reasonOf(await headed(12)), /nothing was sent or received since block 10: .* every 600 s$/);
  has = undefined;
  assert.match(reasonOf(await headed(13)), /block 13, which no endpoint of EVM-420420417 has yet$/);
  has = true;
  await fixture.submit(fixture.hub, updatesOf(await headed(14)));
  assert.deepEqual(asked, [[11n, 12n], [11n, 13n], [11n, 14n]]);
  has = false;
  assert.equal((await headed(15)).kind, "nothing");
  laterSec = 600n;
  await fixture.submit(fixture.hub, updatesOf(await headed(16)));
  assert.deepEqual(asked.at(-1), [15n, 15n], "an old height is worth a new one, whatever the endpoints say");
});

Deno.test("Polkadot Hub: what only governance can fix is a warning", async () => {
  await using fixture = await Fixture.start({ followed: [SIBLING] });
  const prover = fixture.ofPolkadotHub();
  fixture.polkadotHub = polkadotHubHeader(5);
  const told = async (text: RegExp): Promise<void> => {
    const [finding, ...others] = await prover.check(never);
    assert.deepEqual([finding?.result, finding?.check, others], ["warning", "chain_not_accepted", []]);
    assert.match(finding?.found ?? "", text);
    assert.match(reasonOf(await prover.next(never)), text);
  };
  const govern = async (change: Promise<unknown>): Promise<void> => {
    fixture.advance();
    await change;
  };
  await told(/^KUSAMA-4009 does not list parachain 1000 in IsmpParachain\.Parachains: .*add_parachain/);
  await govern(fixture.hub.change(consensusSettings.followedParachain.to(undefined, 1000)));
  await told(/^KUSAMA-4009 has no slot duration of parachain 1000 .*IsmpParachain\.set_slot_duration/);
  await govern(fixture.hub.change(consensusSettings.slotDuration.to(SLOT_MS, 1000)));
  assert.deepEqual(await prover.check(never), []);
  await fixture.submit(fixture.hub, updatesOf(await prover.next(never)));
  const { code, detail } = await catchProverFault(prover.fetchInitialState(never));
  assert.equal(code, "not_served");
  assert.match(
    detail,
    /add_parachain and IsmpParachain\.set_slot_duration for parachain 1000, and Ismp\.update/,
  );
});

Deno.test("Polkadot Hub: an endpoint of another chain ends the start only where none is of the right one", async () => {
  await using fixture = await Fixture.start(FOLLOWING);
  const reports: readonly ChainIdReport[] = [
    { host: "right.example", id: 420420417n },
    { host: "wrong.example", id: 420420419n },
  ];
  const prover = fixture.ofPolkadotHub({ host: hostWith(() => false, reports) });
  const row = {
    chain: "EVM-420420417",
    endpoint: "wrong.example",
    check: "chain_id",
    found: `serves EVM-420420419, not ${POLKADOT_HUB.stateMachine}`,
    advice: "remove it from rpc_urls, or correct state_machine",
  } as const;
  assert.deepEqual(await prover.check(never), [{ ...row, result: "warning" }]);
  const alone = fixture.ofPolkadotHub({ host: hostWith(() => false, reports.slice(1)) });
  assert.deepEqual(await alone.check(never), [{ ...row, result: "failed" }]);
  assert.deepEqual(await prover.checkHub?.(never), [], "that asks no endpoint");
});

Deno.test("Polkadot Hub: a proven head that the hub would refuse is not offered, and no node is blamed", async () => {
  await using fixture = await Fixture.start(FOLLOWING);
  const prover = fixture.ofPolkadotHub();
  fixture.polkadotHub = { ...polkadotHubHeader(5), digest: [] };
  fixture.advance();
  const undated = await catchProverFault(prover.next(never));
  assert.deepEqual([undated.code, undated.endpoint], ["not_served", undefined]);
  assert.match(
    undated.detail,
    /^KUSAMA-4009 would refuse the head of parachain 1000 .*\(timestamp_missing\)$/,
  );
  fixture.polkadotHub = {
    ...polkadotHubHeader(6),
    digest: [digestItem("preRuntime", "aura", new Uint8Array(7))],
  };
  fixture.advance();
  const unreadable = await catchProverFault(prover.next(never));
  assert.deepEqual([unreadable.code, unreadable.endpoint], ["not_served", undefined]);
  assert.match(unreadable.detail, /\(undecodable_header\)$/);
  fixture.polkadotHub = polkadotHubHeader(7);
  fixture.advance();
  await fixture.submit(fixture.hub, updatesOf(await prover.next(never)));
});
