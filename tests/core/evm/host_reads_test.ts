import { deepStrictEqual as equal, throws } from "node:assert/strict";
import vectors from "../../vectors/evm-host-reads.json" with { type: "json" };
import { fromHex, type Hex, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  feeTokenDecimals,
  type HostRead,
  HostReadError,
  hostReads,
} from "../../../src/core/evm/host_reads.ts";
import { stateMachineFromBytes } from "../../../src/core/ismp/state_machine.ts";
import { word } from "../../../src/core/evm/host_storage.ts";

const reads = vectors.reads;

function check<Args extends readonly unknown[], Value>(
  getter: HostRead<Args, Value>,
  vector: { readonly calldata: string; readonly result: string },
  args: Args,
  expected: Value,
): void {
  equal(getter.encode(...args), vector.calldata);
  const result = toHex(fromHex(vector.result));
  equal(getter.decode(result), expected);
  for (let length = 0; length < (result.length - 2) / 2 - 31; length += 32) {
    const cut: Hex = `0x${result.slice(2, 2 + 2 * length)}`;
    throws(() => getter.decode(cut), HostReadError, `${length} bytes`);
  }
}

function lower(text: string): Hex {
  return toHex(fromHex(text));
}

Deno.test("host read vectors: parameters", () => {
  const { decoded } = reads.hostParams;
  check(hostReads.hostParams, reads.hostParams, [], {
    feeToken: lower(decoded.feeToken),
    admin: lower(decoded.admin),
    handler: lower(decoded.handler),
    hostManager: lower(decoded.hostManager),
    uniswapV2: lower(decoded.uniswapV2),
    unStakingPeriodSec: 1814400n,
    challengePeriodSec: 0n,
    consensusClient: lower(decoded.consensusClient),
    stateMachines: [4009n],
    hyperbridge: stateMachineFromBytes(fromHex(decoded.hyperbridge)),
  });
});

Deno.test("host read vectors: heights, commitments and times", () => {
  check(hostReads.latestStateMachineHeight, reads.latestStateMachineHeight, [4009], 140n);
  check(hostReads.stateMachineCommitment, reads.stateMachineCommitment, [4009, 100n], {
    timestampSec: 1750000030n,
    overlayRoot: toHash256(reads.stateMachineCommitment.decoded.overlayRoot),
    stateRoot: toHash256(reads.stateMachineCommitment.decoded.stateRoot),
  });
  check(
    hostReads.stateMachineCommitmentUpdateTime,
    reads.stateMachineCommitmentUpdateTime,
    [4009, 100n],
    1750000052n,
  );
  check(hostReads.consensusState, reads.consensusState, [], fromHex(reads.consensusState.decoded));
});

Deno.test("host read vectors: receipts and fees", () => {
  const commitmentOf = (calldata: string): Hex => toHash256(`0x${calldata.slice(10)}`);
  check(
    hostReads.requestReceipts,
    reads.requestReceipts,
    [commitmentOf(reads.requestReceipts.calldata)],
    lower(reads.requestReceipts.decoded),
  );
  check(hostReads.responseReceipts, reads.responseReceipts, [commitmentOf(reads.responseReceipts.calldata)], {
    responseCommitment: toHash256(reads.responseReceipts.decoded.responseCommitment),
    relayer: lower(reads.responseReceipts.decoded.relayer),
  });
  check(hostReads.requestCommitments, reads.requestCommitments, [
    commitmentOf(reads.requestCommitments.calldata),
  ], {
    fee: 0n,
    sender: lower(reads.requestCommitments.decoded.sender),
  });
});

function zeroWords(count: number): Hex {
  return `0x${"00".repeat(32 * count)}`;
}

Deno.test("host read: zero words mean that there is nothing", () => {
  equal(hostReads.requestReceipts.decode(zeroWords(1)), undefined);
  equal(hostReads.responseReceipts.decode(zeroWords(2)), undefined);
  equal(hostReads.requestCommitments.decode(zeroWords(2)), undefined);
  equal(hostReads.stateMachineCommitment.decode(zeroWords(3)), undefined);
});

Deno.test("host read: what is no address is malformed", () => {
  const answers: readonly Hex[] = ["0x", `0x${"00".repeat(31)}`, `0x${"01".repeat(32)}`];
  for (const answer of answers) {
    throws(() => hostReads.requestReceipts.decode(answer), HostReadError);
  }
});

Deno.test("host read: selectors and values of the plain getters", () => {
  equal(hostReads.frozen.encode(), "0x054f7d9c");
  equal(
    ["none", "incoming", "outgoing", "all"],
    [0n, 1n, 2n, 3n].map((status) => hostReads.frozen.decode(word(status))),
  );
  equal(hostReads.frozen.decode(word(4n)), "unknown(4)");
  equal(hostReads.challengePeriod.encode(), "0xf3f480d9");
  equal(hostReads.timestamp.encode(), "0xb80777ea");
  equal(hostReads.consensusUpdateTime.encode(), "0x9a8425bc");
  equal(hostReads.nonce.encode(), "0xaffed0e0");
  equal(hostReads.nonce.decode(word(7n)), 7n);
  equal(feeTokenDecimals.encode(), "0x313ce567");
  equal(feeTokenDecimals.decode(word(18n)), 18);
});
