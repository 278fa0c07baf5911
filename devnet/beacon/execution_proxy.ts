/** Puts the beacon chain's withdrawals into the blocks that the execution chain answers with. */
import * as z from "zod";
import { toHex } from "../../src/core/encoding/bytes.ts";
import type { BeaconChain } from "./chain.ts";

const blockShape = z.looseObject({ hash: z.string(), withdrawals: z.array(z.unknown()) });
const answerShape = z.looseObject({ result: blockShape });

/**
 * @param request text of the JSON-RPC request, one or several.
 * @param answer text of the answer to it. The hashes in it do not cover the withdrawals that are put in.
 */
export function withWithdrawals(chain: BeaconChain, request: string, answer: string): string {
  if (!request.includes("eth_getBlockBy")) return answer;
  const json: unknown = JSON.parse(answer);
  return JSON.stringify(
    Array.isArray(json) ? json.map((item) => replaced(chain, item)) : replaced(chain, json),
  );
}

function replaced(chain: BeaconChain, json: unknown): unknown {
  const parsed = answerShape.safeParse(json);
  if (!parsed.success) return json;
  const { result } = parsed.data;
  const withdrawals = withdrawalsOf(chain, result.hash);
  return withdrawals === undefined ? json : { ...parsed.data, result: { ...result, withdrawals } };
}

/** Those of the first beacon block that carries the execution block; later ones have none. */
function withdrawalsOf(chain: BeaconChain, hash: string): unknown[] | undefined {
  const records = [...chain.known()].filter((record) => record.execution.hash === hash);
  const [first] = records.sort((a, b) => a.slot - b.slot);
  const body = first?.signed.message.body;
  // Payloads of Gloas are not in the blocks.
  if (body === undefined || !("executionPayload" in body)) return undefined;
  return body.executionPayload.withdrawals.map((withdrawal) => ({
    index: `0x${withdrawal.index.toString(16)}`,
    validatorIndex: `0x${withdrawal.validatorIndex.toString(16)}`,
    address: toHex(withdrawal.address),
    amount: `0x${withdrawal.amount.toString(16)}`,
  }));
}
