import assert from "node:assert/strict";
import {
  assertConsensus,
  type ChainFacts,
  type ConsensusFacts,
  type ConsensusLimits,
  consensusViolations,
  MAX_MB,
  type RunFacts,
} from "./consensus_checks.ts";
import type { HostDelivery, HostFacts } from "./consensus_hosts.ts";

const root = `0x${"ab".repeat(32)}` as const;
const commitment = { timestampSec: 7n, overlayRoot: undefined, stateRoot: root };
const chain: ChainFacts = {
  chain: "EVM-97/BSC0",
  stored: [{ height: 3n, commitment }, { height: 5n, commitment }],
  headers: new Map([3n, 5n].map((height) => [height, { stateRoot: root, timestampSec: 7n }])),
  latest: [3n, 5n],
};
const run: RunFacts = { name: "relayer 1", errors: [], secrets: [], peakMb: 200 };
const delivery: HostDelivery = {
  hash: "0xd1",
  block: 20n,
  sender: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
  isReverted: false,
  host: "open",
  effects: ["rotation", "rotation", "height"],
  hasMessages: false,
};
const host: HostFacts = {
  chain: "EVM-97",
  deliveries: [delivery],
  heights: [7n, 9n],
  epochs: [11n, 12n],
  sets: [10n, 12n],
};
const good: ConsensusFacts = {
  chains: [chain],
  rejections: [],
  runs: [run],
  hosts: [host],
};
const refusal = {
  stage: "pool",
  code: "BadProof",
  ismp: "consensus_proof_verification_failed",
  detail: "signature",
} as const;

function withChain(changes: Partial<ChainFacts>): ConsensusFacts {
  return { ...good, chains: [{ ...chain, ...changes }] };
}

function withRun(changes: Partial<RunFacts>): ConsensusFacts {
  return { ...good, runs: [run, { ...run, ...changes }] };
}

function withHost(changes: Partial<HostFacts>): ConsensusFacts {
  return { ...good, hosts: [host, { ...host, ...changes }] };
}

function withDelivery(changes: Partial<HostDelivery>): ConsensusFacts {
  return withHost({ deliveries: [delivery, { ...delivery, ...changes }] });
}

const header = { stateRoot: root, timestampSec: 7n };
const violated: readonly [what: string, facts: ConsensusFacts, said: RegExp, limits?: ConsensusLimits][] = [
  [
    "another state root",
    withChain({ headers: new Map([[3n, header], [5n, { ...header, stateRoot: `0x${"ac".repeat(32)}` }]]) }),
    /state root of block 5 is wrong/,
  ],
  [
    "another time",
    withChain({ headers: new Map([[3n, { ...header, timestampSec: 8n }], [5n, header]]) }),
    /time of block 3 is wrong/,
  ],
  [
    "a block that does not exist",
    withChain({ headers: new Map([[3n, header]]) }),
    /block 5, and the chain has none/,
  ],
  ["a height that fell", withChain({ latest: [3n, 6n, 5n] }), /went from 6 to 5/],
  ["a height twice", withChain({ latest: [3n, 5n, 5n] }), /went from 5 to 5/],
  ["a chain that stands still", withChain({ latest: [5n] }), /learned nothing/],
  ["another chain that may stand still", withChain({ latest: [] }), /learned nothing/, {
    withoutUpdates: ["EVM-56/"],
  }],
  ["a height without its commitment", withChain({ latest: [3n, 7n] }), /block 7 is not stored/],
  [
    "a refusal",
    { ...good, rejections: [refusal] },
    /refused \(pool\): BadProof consensus_proof_verification_failed signature/,
  ],
  ["an error", withRun({ errors: ["No update"] }), /relayer 1 printed an error: No update/],
  ["a secret", withRun({ secrets: ["q7"] }), /printed a secret: q7/],
  ["too much memory", withRun({ peakMb: MAX_MB + 1 }), /used \d+ MB/],
  ["memory that was not measured", withRun({ peakMb: undefined }), /never measured/],
  [
    "a failed transaction with proofs",
    withDelivery({ isReverted: true, effects: ["refused"] }),
    /transaction 0xd1 with proofs of the hub failed/,
  ],
  ["a proof for a frozen host", withDelivery({ host: "frozen" }), /went to the frozen host in 0xd1/],
  [
    "a proof for an expired client",
    withDelivery({ host: "expired", isReverted: true }),
    /to the expired host/,
  ],
  [
    "a fourth proof in a transaction",
    withDelivery({ effects: ["rotation", "rotation", "rotation", "height"] }),
    /4 proofs of the hub in 0xd1/,
  ],
  ["a proof that was wasted", withDelivery({ effects: ["none"] }), /1 of .* wasted/],
  [
    "an epoch that was left out",
    withHost({ epochs: [11n, 13n], sets: [10n, 13n] }),
    /set 13 follows set 11/,
  ],
  ["a first epoch that was left out", withHost({ epochs: [12n] }), /set 12 follows set 10/],
  ["an epoch that was reported twice", withHost({ epochs: [11n, 11n, 12n] }), /set 11 follows set 11/],
  [
    "an epoch without an update",
    withHost({ epochs: [11n] }),
    /the newest set is 12, and 11 was reported/,
  ],
  ["a height of the hub that fell", withHost({ heights: [9n, 7n] }), /hub's height went from 9 to 7/],
];

for (const [what, facts, said, limits] of violated) {
  Deno.test(`consensus checks: ${what} is found, alone`, () => {
    const found = consensusViolations(facts, limits);
    assert.equal(found.length, 1, found.join("\n"));
    assert.match(found[0] ?? "", said);
    assert.throws(() => assertConsensus(facts, limits), said);
  });
}

Deno.test("consensus checks: what is as it should be passes, and so does what a scenario allows", () => {
  assert.deepEqual(consensusViolations(good), []);
  assert.deepEqual(consensusViolations(withChain({ latest: [] }), { withoutUpdates: ["EVM-97/"] }), []);
  assert.deepEqual(consensusViolations(withDelivery({ isReverted: false, effects: [] })), []);
  assert.deepEqual(consensusViolations(withHost({ epochs: [10n, 11n, 12n] })), []);
  assert.deepEqual(consensusViolations(withHost({ epochs: [], heights: [], sets: [10n, 10n] })), []);
});
