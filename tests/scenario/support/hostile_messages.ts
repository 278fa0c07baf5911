/**
 * Messages to modules that cost relayers gas for nothing (`devnet/contracts/Hostile.sol`), beside those of honest
 * users: some behave only while a node imagines the delivery, one is too large to be looked at, and one turns bad in the
 * block that holds the delivery. Start reading at {@link HostileSenders}.
 */
import assert from "node:assert/strict";
import { encodeFunctionData, parseAbi, stringToHex } from "viem";
import type { DevnetChain } from "../../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../../devnet/evm/accounts.ts";
import { waitForReceipt } from "../../../devnet/evm/deploy.ts";
import { HOSTILE_MODULE, placeHostile, turnHostile } from "../../../devnet/evm/host_admin.ts";
import { delivered, sendBody, type SentMessage, waitUntil } from "../../../devnet/traffic/messages.ts";
import type { LedgerSubmission } from "./ledger_reader.ts";
import type { Scene, SceneRelayer } from "./scene.ts";

const ABI = parseAbi(["function turn(bool bad)"]);

/** Bodies of modules that can be seen through before anything is paid. */
const DECEITS = ["price", "gas", "rich", "trace"] as const;
/** Messages to the module that has turned bad, which nobody may pay for any more. */
const MORE_SPOILERS = 3;
/** Tries to have a delivery mined behind the block in which the module turns bad. */
const TRIES = 5;
/** Gas price of those who want to be mined first, wei: far above what relayers offer anywhere, also to Polygon's validators. */
const HASTY_WEI = 1_000_000_000_000n;

/** States of rows about which the relayer has made up its mind. */
const JUDGED = new Set(["delivered", "held", "not_executed", "rejected", "gone"]);

/** Hostile modules on the chains A and B, and those who write to them. */
export class HostileSenders {
  /** Transactions that may revert: a spoiler can take a batch with it, which then goes in parts. */
  readonly mostReverts = 6;
  readonly #scene: Scene;
  readonly #fee: bigint;
  readonly #sent: SentMessage[] = [];

  private constructor(scene: Scene, fee: bigint) {
    this.#scene = scene;
    this.#fee = fee;
  }

  /** Puts the modules on the chains. @param fee of each message: what they lack in effect they offer in money */
  static async settle(scene: Scene, fee: bigint): Promise<HostileSenders> {
    const senders = new HostileSenders(scene, fee);
    for (const { host } of senders.#chains) {
      await placeHostile(host);
      await turnHostile(host, false);
    }
    return senders;
  }

  get #chains(): readonly [DevnetChain, DevnetChain] {
    const { devnet } = this.#scene;
    return [devnet.chain("A"), devnet.chain("B")];
  }

  /** Each deceit once, each way. */
  async send(): Promise<void> {
    for (const body of DECEITS) for (const dest of this.#chains) await this.#sendTo(dest, body);
  }

  /**
   * On each chain a delivery is paid for that the module had promised to take: it turns bad in the same block, in front
   * of it. More messages to it follow.
   */
  async spoil(relayer: SceneRelayer): Promise<void> {
    for (const dest of this.#chains) await this.#spoilOn(dest, relayer);
  }

  async #spoilOn(dest: DevnetChain, relayer: SceneRelayer): Promise<void> {
    let isSpoilt = false;
    for (let tried = 0; tried < TRIES && !isSpoilt; tried++) {
      // It is bad after a try that came too late, and nobody would send it the next one.
      if (tried > 0) await turnHostile(dest.host, false);
      isSpoilt = await this.#turnInFrontOf(relayer, dest, await this.#sendTo(dest, "switch"));
    }
    assert.ok(isSpoilt, `every delivery to ${dest.name} was mined before the module turned bad`);
    await turnHostile(dest.host, false);
    for (let count = 0; count < MORE_SPOILERS; count++) await this.#sendTo(dest, "switch");
  }

  /** Waits until the relayer has decided about all of them. @returns those that were delivered */
  async untilJudged(relayer: SceneRelayer): Promise<readonly SentMessage[]> {
    await waitUntil("the relayer has decided about every hostile message", async () => {
      const { messages } = await relayer.ledger();
      const states = new Map(
        messages.map(({ commitment, target, state }) => [`${commitment} ${target}`, state]),
      );
      return this.#sent.every(({ commitment, request: { dest } }) =>
        JUDGED.has(states.get(`${commitment} ${dest}`) ?? "")
      );
    }, { everyMs: 400 });
    return await delivered(this.#scene.devnet, this.#sent);
  }

  /** @throws {assert.AssertionError} when more than the one delivery to each chain was paid for without effect. */
  async assertWasteBounded(relayer: SceneRelayer): Promise<void> {
    const { spending, submissions } = await relayer.ledger();
    const ours = new Set<string>(this.#sent.map(({ commitment }) => commitment));
    for (const { stateMachine } of this.#chains) {
      const inVain = new Set(
        spending.filter(({ chain, result }) => chain === stateMachine && result === "not_executed")
          .map(({ hash }) => hash),
      );
      const paid = submissions.filter(({ chain, hash, items }) =>
        chain === stateMachine && inVain.has(hash) && items.some(({ commitment }) => ours.has(commitment))
      );
      assert.ok(
        paid.length <= 1,
        `${paid.length} transactions on ${stateMachine} were paid for hostile modules`,
      );
    }
  }

  async #sendTo(dest: DevnetChain, body: string): Promise<SentMessage> {
    const [a, b] = this.#chains;
    const source = dest === a ? b : a;
    const [sent] = await sendBody(source, {
      dest: dest.stateMachine,
      to: HOSTILE_MODULE,
      body: stringToHex(body),
      fee: this.#fee,
    });
    if (sent === undefined) throw new Error("A transaction without its message");
    this.#sent.push(sent);
    return sent;
  }

  /** @returns false when the delivery was mined too early */
  async #turnInFrontOf(relayer: SceneRelayer, dest: DevnetChain, sent: SentMessage): Promise<boolean> {
    const { devnet } = this.#scene;
    await waitUntil(
      "the hub has the spoiler",
      () => devnet.hub.findReceipt(sent.commitment) !== undefined,
      { everyMs: 20 },
    );
    const height = BigInt(devnet.hub.best.number);
    const way = { from: devnet.hub.identity.stateMachine, to: dest.stateMachine };
    await waitUntil(`${dest.name} can be sent the spoiler`, () => devnet.oracle.lastHeight(way) >= height, {
      everyMs: 20,
    });
    await dest.host.node.setIntervalMining({ interval: 0 });
    try {
      await waitUntil("the spoiler is on its way", async () => {
        return (await this.#deliveriesOf(relayer, sent)).length > 0;
      }, { everyMs: 50 });
      const hash = await turnFirst(dest);
      await dest.host.node.setIntervalMining({ interval: 1 });
      await waitForReceipt(dest.host.reader, hash);
    } finally {
      await dest.host.node.setIntervalMining({ interval: 1 });
    }
    return (await delivered(devnet, [sent])).length === 0;
  }

  async #deliveriesOf(relayer: SceneRelayer, sent: SentMessage): Promise<readonly LedgerSubmission[]> {
    const { submissions } = await relayer.ledger();
    return submissions.filter(({ chain, state, items }) =>
      chain === sent.request.dest && state !== "signed" &&
      items.some(({ commitment }) => commitment === sent.commitment)
    );
  }
}

/** Sends the turn with a gas price that puts it in front of what waits. @returns its hash */
async function turnFirst({ host }: DevnetChain): Promise<`0x${string}`> {
  const { reader } = host;
  const account = DEVNET_ACCOUNTS.deployer;
  const serializedTransaction = await account.signTransaction({
    type: "legacy",
    chainId: host.node.chain?.id ?? await reader.getChainId(),
    nonce: await reader.getTransactionCount({ address: account.address, blockTag: "pending" }),
    gasPrice: HASTY_WEI,
    gas: 100_000n,
    to: HOSTILE_MODULE,
    data: encodeFunctionData({ abi: ABI, functionName: "turn", args: [true] }),
    value: 0n,
  });
  return await reader.sendRawTransaction({ serializedTransaction });
}
