/** Nodes that keep few states, and several nodes behind one URL. */
import { isHex, keccak256 } from "viem";
import { answerAtHead, laggingHead } from "./lagging_node.ts";
import { refuseCall } from "./refusal.ts";
import {
  type Ask,
  byCall,
  type Call,
  headOf,
  heightOf,
  limited,
  type LimitedBehaviour,
  numberIn,
  type RpcBehaviour,
  STATE_METHODS,
} from "./rpc_behaviour.ts";

/** Methods of Substrate nodes that read the state of the block that is their last parameter. */
const SUBSTRATE_STATE = /^(state|childstate|ismp|mmr|system_dryRun)/;

/** Those that read the states of a range, whose first block is their first parameter. */
const SUBSTRATE_EVENTS = /^ismp_queryEvents/;

function keeping(kind: string, isMeant: (method: string) => boolean): LimitedBehaviour {
  return limited(kind, (max, refusal, strike) =>
    byCall(async (call, next, ask) => {
      const age = isMeant(call.method) ? await ageOf(call, ask) : undefined;
      if (age === undefined || age.blocks < BigInt(max)) return await next(call);
      strike();
      return refuseCall(call, refusal, { max, block: age.block, head: age.head });
    }));
}

/** States of the newest blocks only. */
export const newestStates: LimitedBehaviour = keeping("states", () => true);

/** Proofs (`eth_getProof`) of the newest blocks only; other reads of old states work. */
export const newestProofs: LimitedBehaviour = keeping("proofs", (method) => method === "eth_getProof");

interface Age {
  readonly blocks: bigint;
  readonly block: string;
  readonly head: bigint;
}

/** How old the state is that a call reads; `undefined` for calls that read none, or the newest. */
async function ageOf(call: Call, ask: Ask): Promise<Age | undefined> {
  if (SUBSTRATE_EVENTS.test(call.method)) return await rangeAge(call.params[0], ask);
  if (SUBSTRATE_STATE.test(call.method)) return await substrateAge(call.params.at(-1), ask);
  const at = STATE_METHODS[call.method];
  if (at === undefined) return undefined;
  const tag = tagOf(call.params[at]);
  if (tag === undefined || tag === "latest" || tag === "pending") return undefined;
  const height = await heightOf(tag, ask);
  if (height === undefined) return undefined;
  const head = await headOf(ask);
  return { blocks: head - height, block: tag, head };
}

function tagOf(parameter: unknown): string | undefined {
  if (typeof parameter === "string") return parameter;
  if (typeof parameter !== "object" || parameter === null) return undefined;
  if ("blockHash" in parameter) return String(parameter.blockHash);
  return "blockNumber" in parameter ? String(parameter.blockNumber) : undefined;
}

async function substrateAge(hash: unknown, ask: Ask): Promise<Age | undefined> {
  if (typeof hash !== "string" || !/^0x[0-9a-f]{64}$/i.test(hash)) return undefined;
  const header = (params: readonly unknown[]): Promise<bigint | undefined> =>
    ask({ id: 0, method: "chain_getHeader", params }).then(({ result }) => numberIn(result));
  const height = await header([hash]);
  const head = await header([]);
  return height === undefined || head === undefined
    ? undefined
    : { blocks: head - height, block: hash, head };
}

async function rangeAge(first: unknown, ask: Ask): Promise<Age | undefined> {
  const { result } = await ask({ id: 0, method: "chain_getBlockHash", params: [Number(first)] });
  return await substrateAge(result, ask);
}

/**
 * Several nodes behind one URL, each so many blocks behind: every request, or every call of a batch, is answered by the
 * next one.
 */
export function fleet(lags: readonly number[], spread: "request" | "call"): RpcBehaviour {
  return {
    kind: "fleet",
    start: (strike) => {
      let turn = 0;
      const nextLag = (): bigint => BigInt(lags[turn++ % lags.length] ?? 0);
      return () => {
        const ofRequest = spread === "request" ? nextLag() : undefined;
        return {
          answer: async (call, next) => {
            const lag = ofRequest ?? nextLag();
            if (lag === 0n) return await next(call);
            strike();
            return await answerAtHead(call, await laggingHead(lag, next), next);
          },
        };
      };
    },
  };
}

/** A node without peers: it stands still at the block that was its newest when it was asked first, and passes nothing on. */
export const standing: RpcBehaviour = {
  kind: "standing",
  start: (strike) => {
    let head: Promise<bigint> | undefined;
    return byCall(async (call, next, ask) => {
      const known = await (head ??= headOf(ask));
      const [raw] = call.params;
      if (call.method !== "eth_sendRawTransaction") return await answerAtHead(call, known, next);
      strike();
      return { id: call.id, result: keccak256(isHex(raw) ? raw : "0x") };
    });
  },
};
