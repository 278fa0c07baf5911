/**
 * A relayer by hand, step by step and with nothing of the product but its encodings: for tests of what the devnet
 * itself accepts, and for competitors. Works on devnets whose EVM chains mine a block per transaction.
 */
import { type Hash256, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import { type Address, toAddress } from "../../src/core/evm/address.ts";
import { getResponsesCall, postRequestsCall, type ProvedAt } from "../../src/core/evm/handler_calls.ts";
import { evmStateProofCodec, type MmrProof, mmrProofCodec, type Proof } from "../../src/core/ismp/proof.ts";
import type { GetResponse, PostRequest } from "../../src/core/ismp/message.ts";
import { commitmentOfPost, commitmentOfResponse } from "../../src/core/ismp/message.ts";
import { decodeStrict } from "../../src/core/encoding/scale.ts";
import { type AccountProofAnswer, buildEvmStateProof } from "../../src/core/merkle/evm_proof.ts";
import type { LocalAccount, TransactionReceipt } from "viem";
import type { Devnet, DevnetChain } from "../devnet.ts";
import { callHttp, resultHttp } from "../hub/json_rpc_client.ts";
import { waitUntil } from "./messages.ts";

/** Blocks behind the newest one that an EVM chain of the devnet calls final, and one more. */
const BLOCKS_TO_FINAL = 3;

/** Makes everything on an EVM chain final and known to the hub. @returns the height that the hub knows. */
export async function tellHub(devnet: Devnet, chain: DevnetChain): Promise<bigint> {
  await devnet.mine(chain, BLOCKS_TO_FINAL);
  return await devnet.oracle.step({ from: chain.stateMachine, to: devnet.hub.identity.stateMachine });
}

/** Slots of a contract (the ISMP host unless given) at a height, as the hub takes them. */
export async function proveSlots(
  devnet: Devnet,
  chain: DevnetChain,
  at: { readonly height: bigint; readonly slots: readonly Hash256[]; readonly contract?: Address },
): Promise<Proof> {
  const answer = await resultHttp(chain.node.rpcUrl, "eth_getProof", [
    at.contract ?? chain.host.addresses.host,
    at.slots,
    `0x${at.height.toString(16)}`,
  ]);
  if (!isAccountProof(answer)) throw new Error("eth_getProof gave no proof");
  const proof = evmStateProofCodec.enc(buildEvmStateProof([answer]));
  return { height: { id: devnet.idOnHub(chain), height: at.height }, proof };
}

function isAccountProof(answer: unknown): answer is AccountProofAnswer {
  return typeof answer === "object" && answer !== null && "accountProof" in answer;
}

/** Submits an unsigned extrinsic and waits until its block is final. @returns the hub's best height at inclusion. */
export async function submitToHub({ hub }: Devnet, extrinsic: Uint8Array): Promise<number> {
  const answer = await callHttp(hub.httpUrl, "author_submitExtrinsic", [toHex(extrinsic)]);
  if (answer.kind === "error") {
    const why = hub.rejections.at(-1);
    throw new Error(`The hub refused: ${answer.error.message}, ${why?.dispatch ?? ""} ${why?.detail ?? ""}`);
  }
  const pending = async (): Promise<boolean> => {
    const waiting = await resultHttp(hub.httpUrl, "author_pendingExtrinsics");
    return Array.isArray(waiting) && waiting.includes(toHex(extrinsic));
  };
  await waitUntil("the extrinsic is in a block", async () => !await pending());
  const { number } = hub.best;
  await waitUntil("the block is final", () => hub.finalized.number >= number);
  return number;
}

/** Tells an EVM chain the newest hub height and delivers posts to it that the hub holds. */
export function deliverPosts(
  devnet: Devnet,
  chain: DevnetChain,
  requests: readonly PostRequest[],
  account: LocalAccount,
): Promise<TransactionReceipt> {
  const keys = { Requests: requests.map(commitmentOfPost) };
  return deliver(
    devnet,
    chain,
    { keys, call: (at, proof) => postRequestsCall(at, requests, proof) },
    account,
  );
}

/** Tells an EVM chain the newest hub height and delivers responses to it that the hub made. */
export function deliverResponses(
  devnet: Devnet,
  chain: DevnetChain,
  responses: readonly GetResponse[],
  account: LocalAccount,
): Promise<TransactionReceipt> {
  const keys = { Responses: responses.map(commitmentOfResponse) };
  return deliver(
    devnet,
    chain,
    { keys, call: (at, proof) => getResponsesCall(at, responses, proof) },
    account,
  );
}

async function deliver(
  devnet: Devnet,
  chain: DevnetChain,
  what: { readonly keys: unknown; readonly call: (at: ProvedAt, proof: MmrProof) => Hex },
  account: LocalAccount,
): Promise<TransactionReceipt> {
  const hub = devnet.hub.identity.stateMachine;
  const hubHeight = await devnet.oracle.step({ from: hub, to: chain.stateMachine });
  const answer: unknown = await resultHttp(devnet.hub.httpUrl, "mmr_queryProof", [
    Number(hubHeight),
    what.keys,
  ]);
  const proof = decodeStrict(mmrProofCodec, Uint8Array.from(Object(answer).proof), "MmrProof");
  const at = { host: toAddress(chain.host.addresses.host), hub, hubHeight };
  return await chain.host.transact(account, {
    to: chain.host.addresses.handler,
    data: what.call(at, proof),
    gas: 5_000_000n,
  });
}
