/**
 * Polkadot Hub as its relay chain sees it: a parachain whose blocks are those of an EVM node, number by number, with
 * headers of a Substrate chain that tell no time but their slot. Start reading at {@link startParachainBlocks}.
 */
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { u64 } from "../../src/core/encoding/scale.ts";
import { extrinsicsRoot } from "../hub/blocks.ts";
import { digestItem, hashHeader, type SimulatedHeader } from "../hub/digest.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { pause } from "../waiting.ts";

/** How they are made. */
export interface ParachainBlocksOptions {
  /** `http://host:port` of the EVM node. */
  readonly executionUrl: string;
  /** Milliseconds of a slot. Default 1000. */
  readonly slotMs?: bigint;
  /** State root of a block. Default: that of the EVM block. */
  readonly stateRootOf?: (block: EvmBlock) => Hash256 | Promise<Hash256>;
}

/** What is read of an EVM block. */
export interface EvmBlock {
  readonly number: number;
  readonly stateRoot: Hash256;
  readonly timestampSec: bigint;
}

/** The parachain. */
export interface ParachainBlocks extends AsyncDisposable {
  readonly slotMs: bigint;
  /** Newest block that the relay chain has; `undefined`: none yet. */
  readonly head: SimulatedHeader | undefined;
  /** Header of a block that the relay chain has or had; `undefined`: it never saw that one. */
  header(number: number): SimulatedHeader | undefined;
}

/** Blocks of the EVM node that are newer than the head: the node may still lose them. */
const UNSURE_BLOCKS = 2;
const LOOK_EVERY_MS = 100;
const ZERO = toHash256(new Uint8Array(32));
const noExtrinsics = extrinsicsRoot([], "Blake2");

/** Starts to follow an EVM node; its first head is there when this returns. */
export async function startParachainBlocks(options: ParachainBlocksOptions): Promise<ParachainBlocks> {
  await resultHttp(options.executionUrl, "anvil_mine", ["0x4"]);
  const blocks = new FollowingBlocks(options);
  await blocks.follow();
  blocks.run();
  return blocks;
}

class FollowingBlocks implements ParachainBlocks {
  readonly slotMs: bigint;
  readonly #options: ParachainBlocksOptions;
  readonly #headers = new Map<number, SimulatedHeader>();
  readonly #end = new AbortController();
  #head: SimulatedHeader | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(options: ParachainBlocksOptions) {
    this.#options = options;
    this.slotMs = options.slotMs ?? 1000n;
  }

  get head(): SimulatedHeader | undefined {
    return this.#head;
  }

  header(number: number): SimulatedHeader | undefined {
    return this.#headers.get(number);
  }

  /** Takes over the blocks that have become sure. */
  async follow(): Promise<void> {
    const { executionUrl, stateRootOf = ({ stateRoot }) => stateRoot } = this.#options;
    const sure = Number(await resultHttp(executionUrl, "eth_blockNumber", [])) - UNSURE_BLOCKS;
    for (let number = (this.#head?.number ?? -1) + 1; number <= sure; number++) {
      const shown = `0x${number.toString(16)}`;
      const block = evmBlock(
        number,
        await resultHttp(executionUrl, "eth_getBlockByNumber", [shown, false]),
      );
      const header = this.#makeHeader(block, await stateRootOf(block));
      this.#headers.set(number, header);
      this.#head = header;
    }
  }

  #makeHeader({ number, timestampSec }: EvmBlock, stateRoot: Hash256): SimulatedHeader {
    const slot = timestampSec * 1000n / this.slotMs;
    return {
      parentHash: this.#head === undefined ? ZERO : hashHeader(this.#head, "Blake2"),
      number,
      stateRoot,
      extrinsicsRoot: noExtrinsics,
      digest: [
        digestItem("preRuntime", "aura", u64.enc(slot)),
        digestItem("seal", "aura", new Uint8Array(64)),
      ],
    };
  }

  /** Follows until the end. */
  run(): void {
    this.#work = (async () => {
      while (!this.#end.signal.aborted) {
        await this.follow();
        await pause(LOOK_EVERY_MS, this.#end.signal);
      }
    })();
    // Reported at the end.
    this.#work.catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#work;
  }
}

function evmBlock(number: number, answer: unknown): EvmBlock {
  if (typeof answer !== "object" || answer === null || !("stateRoot" in answer) || !("timestamp" in answer)) {
    throw new TypeError(`The EVM node has no block ${number}`);
  }
  return {
    number,
    stateRoot: toHash256(String(answer.stateRoot)),
    timestampSec: BigInt(String(answer.timestamp)),
  };
}
