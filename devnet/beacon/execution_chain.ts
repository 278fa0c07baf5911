/** Reads blocks of the execution chain in the form in which beacon blocks carry them. */
import type { electra } from "@lodestar/types";
import * as z from "zod";
import { fromHex, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";

/** A block without withdrawals: those are the beacon chain's to decide. */
export interface ExecutionBlock {
  readonly number: number;
  readonly hash: Hash256;
  readonly parentHash: Hash256;
  readonly payload: Omit<electra.ExecutionPayload, "withdrawals">;
}

const hex = z.string().regex(/^0x[0-9a-fA-F]*$/);
const bytes = hex.transform(fromHex);
const quantity = hex.transform((text) => Number(text));
const blockShape = z.object({
  number: quantity,
  hash: hex,
  parentHash: hex,
  miner: bytes,
  stateRoot: bytes,
  receiptsRoot: bytes,
  logsBloom: bytes,
  mixHash: bytes,
  gasLimit: quantity,
  gasUsed: quantity,
  timestamp: quantity,
  extraData: bytes,
  baseFeePerGas: hex.transform(BigInt),
  blobGasUsed: hex.transform(BigInt).default(0n),
  excessBlobGas: hex.transform(BigInt).default(0n),
  transactions: z.array(hex),
});
const answerShape = z.object({ id: z.number(), result: z.unknown() });

/** The chain behind a JSON-RPC address. */
export class ExecutionChain {
  readonly #signal: AbortSignal;

  constructor(readonly url: string, signal: AbortSignal) {
    this.#signal = signal;
  }

  /** @returns undefined when there is no such block. */
  async block(at: number | "latest"): Promise<ExecutionBlock | undefined> {
    const tag = at === "latest" ? at : `0x${at.toString(16)}`;
    const [json] = await this.#call("eth_getBlockByNumber", [[tag, false]]);
    if (json === null) return undefined;
    const block = blockShape.parse(json);
    return {
      number: block.number,
      hash: toHash256(block.hash),
      parentHash: toHash256(block.parentHash),
      payload: {
        parentHash: fromHex(block.parentHash),
        feeRecipient: block.miner,
        stateRoot: block.stateRoot,
        receiptsRoot: block.receiptsRoot,
        logsBloom: block.logsBloom,
        prevRandao: block.mixHash,
        blockNumber: block.number,
        gasLimit: block.gasLimit,
        gasUsed: block.gasUsed,
        timestamp: block.timestamp,
        extraData: block.extraData,
        baseFeePerGas: block.baseFeePerGas,
        blockHash: fromHex(block.hash),
        transactions: await this.#transactions(block.transactions),
        blobGasUsed: block.blobGasUsed,
        excessBlobGas: block.excessBlobGas,
      },
    };
  }

  /** Makes empty blocks. */
  async mine(blocks: number): Promise<void> {
    await this.#call("anvil_mine", [[`0x${blocks.toString(16)}`]]);
  }

  async #forward(body: string): Promise<string> {
    const response = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: this.#signal,
    });
    return await response.text();
  }

  async #transactions(hashes: readonly string[]): Promise<Uint8Array[]> {
    if (hashes.length === 0) return [];
    const raw = await this.#call("eth_getRawTransactionByHash", hashes.map((hash) => [hash]));
    return raw.map((item) => bytes.parse(item));
  }

  /** One method, several parameter lists, in one request. */
  async #call(method: string, calls: readonly (readonly unknown[])[]): Promise<unknown[]> {
    const body = calls.map((params, id) => ({ jsonrpc: "2.0", id, method, params }));
    const json: unknown = JSON.parse(await this.#forward(JSON.stringify(body)));
    const answers = z.array(answerShape).parse(json);
    return answers.sort((a, b) => a.id - b.id).map(({ result }) => {
      if (result === undefined) throw new Error(`${method}: ${JSON.stringify(json)}`);
      return result;
    });
  }
}
