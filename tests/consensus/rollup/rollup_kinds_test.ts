// Provers of every kind of claims on real nodes: each claim advances the hub once, none does without the contract that the
// hub holds, and a node that lies is named where its answer can be distinguished from the truth.
import assert from "node:assert/strict";
import { resultHttp } from "../../../devnet/hub/json_rpc_client.ts";
import { onFixture as onGames, rollupId as optimism } from "../clients/op_stack/fixture.ts";
import { rollupId as sepolia, startArbitrum } from "../clients/arbitrum/fixture.ts";
import { type AlterAnswer, alteringFetch } from "../../support/altered_answers.ts";
import { hostOf, never, outcomeOf, reasonForNothing, relay, type Rollup } from "./fixture.ts";
import { lieAbout, nudge } from "./lies.ts";
import { blacklistedClaimKey } from "../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  blacklistedGameKey,
  disputeGameRulesKey,
} from "../../../src/consensus/clients/op_stack/spec/update.ts";
import type { ConsensusProver } from "../../../src/consensus/prover.ts";
import { type Address, toAddress } from "../../../src/core/evm/address.ts";
import { evmChainId, type StateMachineId } from "../../../src/core/ismp/state_machine.ts";
import type { Fetch } from "../../../src/core/rpc/http_exchange.ts";

/** A rollup with one kind of claims. */
interface Scene extends Pick<Rollup, "nodes" | "hub" | "log" | "advanceL1"> {
  /** URL at which the rollup is read. */
  readonly l2Url: string;
  readonly contract: Address;
  /** Another contract of the same L1. */
  readonly other: Address;
  prover(choice?: { readonly l1Transport?: Fetch; readonly l2Transport?: Fetch }): ConsensusProver;
  /** Makes a block of the rollup and a claim about it, which the hub learns of; `key` of the hub rules it out. */
  claim(): Promise<{ readonly l2Height: bigint; readonly key?: Uint8Array }>;
  /** Sets the contract that the hub holds. */
  hold(contract: Address | undefined): void;
}

/** A lie, and the outcome where the endpoint cannot be named. */
type Lie = readonly [AlterAnswer, RegExp?];

interface Kind {
  readonly noun: string;
  readonly rollup: StateMachineId;
  readonly on: (work: (scene: Scene) => Promise<void>) => Promise<void>;
  /** What is said without a contract, and with another one in the configuration. */
  readonly missing: RegExp;
  readonly differs: RegExp;
  readonly l1Lies: readonly Lie[];
  /** Method by which blocks of the rollup are read. */
  readonly blocksBy: string;
}

/** Replaces one word of the data of all logs. */
function lieAboutWord(index: number): AlterAnswer {
  return lieAbout("eth_getLogs", "*.data", (data) => {
    const end = 2 + 64 * (index + 1);
    const last = data[end - 1] === "1" ? "2" : "1";
    return `${data.slice(0, end - 1)}${last}${data.slice(end)}`;
  });
}

/** Fields of blocks that are no part of the header, or that nobody reads. */
const UNHASHED: ReadonlySet<string> = new Set([
  ...["size", "totalDifficulty", "transactions", "uncles", "withdrawals"],
  ...["l1BlockNumber", "sendCount", "sendRoot"],
]);

/** Lies about what every kind reads of the L1. */
const commonLies: readonly Lie[] = [
  [lieAbout("eth_getBlockByNumber", "stateRoot")],
  [lieAbout("eth_getProof", "accountProof.0")],
  [lieAbout("eth_getProof", "storageHash")],
  [lieAbout("eth_getProof", "storageProof.0.proof.0")],
  [(method, result) => method === "eth_getProof" ? { ...Object(result), accountProof: [] } : result],
  [(method, result) => method === "eth_getProof" ? { ...Object(result), storageProof: [] } : result],
  // A log that is left out hides a claim, which costs time and nothing else.
  [(method, result) => method === "eth_getLogs" ? [] : result, /^nothing: there are no new/],
];

const onArbitrum = (type: "ArbitrumBold" | "ArbitrumOrbit"): Kind["on"] => async (work) => {
  await using fixture = await startArbitrum(type);
  const { contracts, l2 } = fixture;
  const isBold = type === "ArbitrumBold";
  const [own, other] = [contracts.rollup, contracts.nodeRollup].map(toAddress);
  assert.ok(own && other);
  await work({
    ...fixture,
    l2Url: l2.rpcUrl,
    contract: isBold ? own : other,
    other: isBold ? other : own,
    hold: fixture.setRollup,
    claim: async () => {
      if (!isBold) return await fixture.claimNode();
      const { l2Height, assertionHash } = await fixture.claimAssertion();
      return { l2Height, key: blacklistedClaimKey(sepolia, assertionHash) };
    },
  });
};

const arbitrum = {
  rollup: sepolia,
  missing: /the hub holds no rollup contract/,
  differs: /rollup_core is 0x.*, and the hub holds 0x/,
  blocksBy: "eth_getBlockByHash",
};

const kinds: readonly Kind[] = [
  {
    noun: "dispute games",
    rollup: optimism,
    missing: /the hub holds no dispute game factory and no output oracle/,
    differs: /dispute_game_factory is 0x.*, and the hub holds 0x/,
    blocksBy: "eth_getBlockByNumber",
    on: (work) =>
      onGames((fixture) => {
        const { nodes, contracts, hub } = fixture;
        return work({
          ...fixture,
          l2Url: nodes.l2.rpcUrl,
          contract: toAddress(contracts.factory),
          other: toAddress(contracts.oracle),
          hold: (contract) =>
            contract === undefined
              ? hub.put(disputeGameRulesKey(optimism), undefined)
              : fixture.setRules(contracts.configs, contract),
          claim: async () => {
            await fixture.mineL2();
            const { l2Height, proxy } = await fixture.propose();
            return { l2Height, key: blacklistedGameKey(optimism, toAddress(proxy)) };
          },
        });
      })(),
    l1Lies: [
      // A made up address of a game cannot be asked for anything: it reads as a game that does not tell.
      [lieAbout("eth_getLogs", "*.topics.1"), /^nothing|^bad_data/],
      [lieAbout("eth_getLogs", "*.topics.2", (topic) => `${topic.slice(0, -3)}26d`)],
      [lieAbout("eth_getLogs", "*.topics.3")],
      [lieAbout("eth_getLogs", "*.data", () => "0x00")],
      [lieAbout("eth_getLogs", "*.address", () => "0x")],
      // The time of creation, whatever it is, is a word; the extra data, which are more, end in block 1.
      [lieAbout("eth_call", "", (word) => word.length === 66 ? nudge(word) : word)],
      [lieAbout("eth_call", "", (bytes) => bytes.length > 66 ? `${bytes.slice(0, -1)}0` : bytes)],
      [lieAbout("eth_call", "", () => "0x1234"), /^nothing: .*does not answer like a dispute game/],
      [lieAbout("eth_getProof", "storageProof.1.proof.0")],
    ],
  },
  {
    ...arbitrum,
    noun: "assertions",
    on: onArbitrum("ArbitrumBold"),
    l1Lies: [
      [lieAbout("eth_getLogs", "*.topics.1")],
      [lieAbout("eth_getLogs", "*.topics.2")],
      // The end of the claim and the accumulator; what comes before them is no part of the name.
      ...[13, 14, 15, 16, 17, 18, 19].map((index): Lie => [lieAboutWord(index)]),
      [lieAbout("eth_getLogs", "*.data", (data) => data.slice(0, -64))],
      [lieAbout("eth_getProof", "storageProof.1.proof.0")],
    ],
  },
  {
    ...arbitrum,
    noun: "nodes",
    on: onArbitrum("ArbitrumOrbit"),
    l1Lies: [
      [lieAbout("eth_getLogs", "*.topics.1")],
      // Word 6 is the hash of the last block: the rollup has no such block. Word 7 is the send root.
      [lieAboutWord(6), /^nothing: .*block_does_not_exist/],
      [lieAboutWord(7), /^nothing: .*send_root_mismatch/],
      ...[8, 9, 10, 14].map((index): Lie => [lieAboutWord(index)]),
    ],
  },
];

for (const { noun, rollup, on, missing, differs, l1Lies, blocksBy } of kinds) {
  const test = (name: string, work: (scene: Scene) => Promise<void>): void =>
    Deno.test(`${noun}: ${name}`, () => on(work));

  test("each advances the hub once", async (scene) => {
    const { hub, log } = scene;
    const prover = scene.prover();
    await scene.advanceL1();
    assert.match(await reasonForNothing(prover), new RegExp(`there are no new ${noun} in L1 blocks 0 to`));
    for (let round = 0; round < 3; round++) {
      for (let made = 0; made < round; made++) await scene.claim();
      const { l2Height } = await scene.claim();
      assert.equal(await relay(hub, prover), l2Height, "the newest");
      assert.match(await reasonForNothing(prover), /above the hub's height/);
    }
    assert.match(await reasonForNothing(prover), new RegExp(`there are no new ${noun} up to L1 block`));
    assert.deepEqual(log.events("warn"), []);
  });

  test("nothing is submitted without the contract that the hub holds, or of what is ruled out", async (scene) => {
    const { hub, contract, other } = scene;
    const { l2Height, key } = await scene.claim();
    if (key !== undefined) {
      hub.put(key, new Uint8Array(0));
      assert.match(await reasonForNothing(scene.prover()), /1 blacklisted on the hub/);
      hub.put(key, undefined);
    }
    const prover = scene.prover();
    scene.hold(undefined);
    assert.match(await reasonForNothing(prover), missing);
    assert.match((await prover.check(never))[0]?.found ?? "", missing);
    scene.hold(other);
    const [row] = await prover.check(never);
    assert.equal(row?.result, "failed");
    assert.match(row?.found ?? "", differs);
    await reasonForNothing(prover);
    // Searched from the look-back on.
    scene.hold(contract);
    assert.deepEqual(await prover.check(never), []);
    assert.equal(await relay(hub, prover), l2Height);
  });

  test("an L1 endpoint that lies about any part of a claim is named", async (scene) => {
    const { l2Height } = await scene.claim();
    const named = `bad_data EVM-11155111 ${hostOf(scene.nodes.l1.rpcUrl)}`;
    for (const [index, [lie, expected]] of [...commonLies, ...l1Lies].entries()) {
      const outcome = await outcomeOf(scene.prover({ l1Transport: alteringFetch(lie) }));
      if (expected === undefined) assert.equal(outcome, named, `lie ${index}`);
      else assert.match(outcome, expected, `lie ${index}`);
    }
    assert.equal(await relay(scene.hub, scene.prover()), l2Height);
  });

  test("an endpoint of the rollup that lies about a header or a proof is named", async (scene) => {
    const { l2Height } = await scene.claim();
    const named = `bad_data EVM-${evmChainId(rollup.stateMachine)} ${hostOf(scene.l2Url)}`;
    const proofs = blocksBy === "eth_getBlockByNumber"
      ? ["accountProof.0", "accountProof.1", "storageHash"]
      : [];
    const header = await resultHttp(scene.l2Url, "eth_getBlockByNumber", ["latest", false]);
    const lies = [
      ...Object.keys(Object(header)).filter((field) => !UNHASHED.has(field))
        .map((field) => [blocksBy, field] as const),
      ...proofs.map((path) => ["eth_getProof", path] as const),
    ];
    for (const [method, path] of lies) {
      const prover = scene.prover({ l2Transport: alteringFetch(lieAbout(method, path)) });
      assert.equal(await outcomeOf(prover).catch(String), named, path);
    }
    if (proofs.length === 0) {
      const absent: AlterAnswer = (method, result) => method === blocksBy ? null : result;
      const outcome = await outcomeOf(scene.prover({ l2Transport: alteringFetch(absent) }));
      assert.match(outcome, /^nothing: .*block_does_not_exist/);
    }
    assert.equal(await relay(scene.hub, scene.prover()), l2Height);
  });
}
