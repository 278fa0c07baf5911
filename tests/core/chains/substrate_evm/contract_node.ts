/** A Substrate node that proves contracts, in memory: blocks by number, and whatever it is told to do wrong. */
import { ContractTries, type SlotChanges } from "../../../../devnet/revive/mirrored_blocks.ts";
import type { Hash256, Hex } from "../../../../src/core/encoding/bytes.ts";
import { blake2b256, fromHex, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import type { RpcAnswer, RpcCall, RpcEndpoint, RpcFaultCode } from "../../../../src/core/rpc/call.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import type { Json } from "../../../../src/core/rpc/json.ts";

/** Changes an answer before it goes out; `undefined`: as it is. */
type Lie = (call: RpcCall, result: Json) => Json | undefined;

const block = (number: number): Hash256 => toHash256(blake2b256(Uint8Array.of(number)));

/** See the file. */
export class ContractNode implements RpcEndpoint {
  readonly host = "substrate.example.org:9944";
  readonly #states: ContractTries[] = [ContractTries.empty()];
  /** Methods of each request. */
  readonly requests: string[][] = [];
  lie: Lie = () => undefined;

  /** Adds a block with these changes. @returns its number. */
  add(changes: SlotChanges): number {
    return this.#states.push(this.state(this.#states.length - 1).change(changes)) - 1;
  }

  /** Adds a block with any state. */
  addState(state: ContractTries): number {
    return this.#states.push(state) - 1;
  }

  state(number: number): ContractTries {
    const found = this.#states[number];
    if (found === undefined) throw new Error(`No block ${number}`);
    return found;
  }

  send(calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]> {
    this.requests.push(calls.map(({ method }) => method));
    return Promise.resolve(calls.map((call): RpcAnswer => {
      try {
        const result = this.#answer(call);
        return { kind: "result", result: this.lie(call, result) ?? result };
      } catch (fault) {
        if (fault instanceof RpcFault) return { kind: "fault", fault };
        throw fault;
      }
    }));
  }

  #fault(code: RpcFaultCode, method: string): RpcFault {
    const where = { chain: "EVM-420420417", endpointHost: this.host, method };
    return new RpcFault(code, where);
  }

  #answer({ method, params }: RpcCall): Json {
    const stateAt = (hash: unknown): ContractTries =>
      this.state(this.#states.findIndex((_, number) => block(number) === hash));
    const bytesOf = (keys: unknown): Uint8Array[] => (keys as Hex[]).map(fromHex);
    switch (method) {
      case "chain_getBlockHash": {
        const [number = -1] = params as [number];
        return number < this.#states.length ? block(number) : null;
      }
      case "chain_getHeader": {
        const hash = params[0];
        const none = `0x${"00".repeat(32)}`;
        return {
          number: "0x1",
          parentHash: none,
          stateRoot: stateAt(hash).root,
          extrinsicsRoot: none,
          digest: { logs: [] },
        };
      }
      case "state_getReadProof": {
        const [keys, at] = params;
        return { at: String(at), proof: stateAt(at).main.prove(bytesOf(keys)).map(toHex) };
      }
      case "state_getChildReadProof": {
        const [trie, keys, at] = params;
        return {
          at: String(at),
          proof: stateAt(at).proveChild(fromHex(trie as Hex), bytesOf(keys)).map(toHex),
        };
      }
    }
    throw this.#fault("missing_method", method);
  }
}
