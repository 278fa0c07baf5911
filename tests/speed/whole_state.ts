/**
 * What a whole beacon state of mainnet's size costs: the state of the simulator with its lists of validators made
 * longer, put through the reader that the consensus relayer uses. Reading runs in a process of its own, so that
 * memory and processor time are those of reading alone; the transfer is not in them. Then the same state is fetched
 * over HTTP, as the relayer fetches it, to see how long the event loop stands still.
 * Usage as a program: `whole_state.ts <file with a state> <validators> <URL of a node that serves it>`; prints one line
 * of JSON.
 */
import { stateTypeOf } from "../../src/consensus/clients/sync_committee/spec/state_type.ts";
import { ethereumMainnet } from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { BeaconStateReader } from "../../src/consensus/clients/sync_committee/spec/field_roots.ts";
import { BeaconNode } from "../../src/consensus/clients/sync_committee/beacon_node.ts";
import { fetchWholeState } from "../../src/consensus/clients/sync_committee/state_bytes.ts";
import { RestEndpoint } from "../../src/consensus/rest/rest_endpoint.ts";
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { type LoopLag, watchLoop } from "./loop_lag.ts";
import { readCpuMs, readMemoryMb, runAlone } from "./process_usage.ts";

/** Cost of reading one whole state. */
export interface WholeStateCost {
  readonly bytes: number;
  readonly cpuMs: number;
  /** Highest resident memory above that before the first byte, MiB. */
  readonly extraMb: number;
  /** Stalls of the event loop while the state arrives over HTTP. */
  readonly lag: LoopLag;
}

/** Fields with an item for every validator, by their place in the state: validators, balances, and so on. */
const PER_VALIDATOR: ReadonlySet<number> = new Set([11, 12, 15, 16, 21]);
/** Of the five of them together. */
const BYTES_OF_VALIDATOR = 121 + 8 + 1 + 1 + 8;
const SLOTS_PER_EPOCH = 32;
/** A slot of Ethereum in Fulu. */
const FULU_SLOT = 411_392n * 32n;
/** As a connection hands them over. */
const PIECE_BYTES = 65_536;

/** Validators with which a state is about so many bytes long. */
export function validatorsFor(bytes: number): number {
  return Math.floor(bytes / BYTES_OF_VALIDATOR);
}

/** Pieces of the state as it would be with `validators`, which are those of the state again and again. */
export function* longerState(state: Uint8Array, validators: number): Generator<Uint8Array, void, void> {
  const { fieldsEntries, fixedEnd } = stateTypeOf("fulu", SLOTS_PER_EPOCH);
  const fixed = state.slice(0, fixedEnd);
  const view = new DataView(fixed.buffer);
  const places: { readonly field: number; readonly at: number; readonly offset: number }[] = [];
  let at = 0;
  for (const [field, { fieldType: { fixedSize } }] of fieldsEntries.entries()) {
    if (fixedSize === null) places.push({ field, at, offset: view.getUint32(at, true) });
    at += fixedSize ?? 4;
  }
  const known = itemsOf(state, places);
  const lists = places.map(({ field, at, offset }, index) => {
    const part = state.subarray(offset, places[index + 1]?.offset ?? state.length);
    const length = PER_VALIDATOR.has(field) ? part.length / known * validators : part.length;
    return { at, part, length };
  });
  let offset = fixed.length;
  for (const { at, length } of lists) {
    view.setUint32(at, offset, true);
    offset += length;
  }
  yield fixed;
  for (const { part, length } of lists) {
    for (let left = length; left > 0; left -= part.length) {
      yield part.subarray(0, Math.min(left, part.length));
    }
  }
}

/** Validators of a state: its balances have 8 bytes each. */
function itemsOf(
  state: Uint8Array,
  places: readonly { readonly field: number; readonly offset: number }[],
): number {
  const index = places.findIndex(({ field }) => field === 12);
  const [from, to] = [places[index]?.offset, places[index + 1]?.offset ?? state.length];
  if (from === undefined) throw new Error("A state has balances");
  return (to - from) / 8;
}

/** Reads a state of about `bytes` in a process of its own. @param path of a file with a state of the simulator. */
export async function measureWholeState(path: string, bytes: number): Promise<WholeStateCost> {
  const validators = validatorsFor(bytes);
  const state = await Deno.readFile(path);
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, () => {
    const body = ReadableStream.from(piecesOf(longerState(state, validators)));
    return new Response(body, { headers: { "content-type": "application/octet-stream" } });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  return await runAlone("./whole_state.ts", [path, `${validators}`, url]);
}

async function readLonger(state: Uint8Array, validators: number, url: string): Promise<WholeStateCost> {
  // A first, small one: what the reader sets up once is none of a state's cost.
  readAll(state, 1000);
  const [cpuMs, mb] = [readCpuMs(Deno.pid), readMemoryMb(Deno.pid, "VmRSS")];
  const { bytes, root } = readAll(state, validators);
  const cost = {
    bytes,
    cpuMs: readCpuMs(Deno.pid) - cpuMs,
    extraMb: readMemoryMb(Deno.pid, "VmHWM") - mb,
  };
  const endpoint = new RestEndpoint({ fetch, clock: systemClock }, { url, chain: "EVM-1" });
  const network = ethereumMainnet;
  const node = new BeaconNode(endpoint, { network, signal: new AbortController().signal });
  const readLag = watchLoop();
  await fetchWholeState(node, { network, header: { stateRoot: root, slot: FULU_SLOT } });
  return { ...cost, lag: readLag() };
}

/** @returns bytes that were read, and the root of the state. */
function readAll(
  state: Uint8Array,
  validators: number,
): { readonly bytes: number; readonly root: Hash256 } {
  const reader = new BeaconStateReader(stateTypeOf("fulu", SLOTS_PER_EPOCH));
  let bytes = 0;
  for (const piece of piecesOf(longerState(state, validators))) {
    reader.write(piece);
    bytes += piece.length;
  }
  return { bytes, root: reader.finish().tree.node(1) };
}

function* piecesOf(parts: Iterable<Uint8Array>): Generator<Uint8Array, void, void> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PIECE_BYTES) yield part.subarray(at, at + PIECE_BYTES);
  }
}

if (import.meta.main) {
  const [path = "", validators = "", url = ""] = Deno.args;
  const cost = await readLonger(await Deno.readFile(path), Number(validators), url);
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(cost)}\n`));
}
