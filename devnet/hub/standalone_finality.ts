/**
 * Finality of a standalone chain: a set of GRANDPA voters of its own signs its final blocks. The set never changes.
 * Source: paritytech/polkadot-sdk: substrate/frame/grandpa/src/lib.rs (CurrentSetId), substrate/primitives/consensus/grandpa.
 */
import { toHex } from "../../src/core/encoding/bytes.ts";
import {
  currentSetIdKey,
  GRANDPA_ENGINE,
  grandpaAuthoritiesCodec,
} from "../../src/consensus/clients/grandpa/spec/message.ts";
import { u64 } from "../../src/core/encoding/scale.ts";
import { grandpaMethods, GrandpaVotes } from "../relay/grandpa_votes.ts";
import { Validators, type ValidatorSet } from "../relay/validators.ts";
import type { SimulatedBlock } from "./block_history.ts";
import type { ServedChain } from "./blocks.ts";
import type { RpcMethods } from "./rpc/json_rpc.ts";
import type { Overlay } from "./storage.ts";

/** Every so many blocks keep their justification. */
const PERIOD = 8;

/** Its set of validators is none that the relay chain of a devnet comes to. */
const SESSION = 1_000_000;

/** The voters of a chain, and what its node says of them. */
export class StandaloneFinality {
  readonly #set: ValidatorSet;
  readonly #votes: GrandpaVotes;

  /** @param count voters. */
  constructor(chain: ServedChain, count: number) {
    const set = new Validators(count).set(SESSION);
    this.#set = set;
    this.#votes = new GrandpaVotes({
      get finalized(): SimulatedBlock {
        return chain.finalized;
      },
      blockAt: (number) => chain.blockAt(number),
      findNumber: (number) => chain.findNumber(number),
      setOf: () => set,
      changesSet: () => false,
      changes: [],
    }, { grandpaPeriod: PERIOD, splitVotes: () => false });
  }

  /** Id of the set, which the first state has. */
  static genesis(overlay: Overlay): void {
    overlay.put(currentSetIdKey(), u64.enc(new Validators(1).set(SESSION).grandpaSetId));
  }

  /** Justifications as `chain_getBlock` tells them: null, or pairs of engine and bytes. */
  justificationsOf({ header: { number } }: SimulatedBlock): unknown {
    if (!this.#votes.keeps(number)) return null;
    return [[new TextEncoder().encode(GRANDPA_ENGINE), this.#votes.justification(number)]];
  }

  /** The node's methods with those about its finality. */
  methods(others: RpcMethods): RpcMethods {
    return {
      ...others,
      ...grandpaMethods(this.#votes),
      state_call: (params) => {
        if (params[0] !== "GrandpaApi_grandpa_authorities") return others.state_call?.(params);
        return toHex(grandpaAuthoritiesCodec.enc(this.#set.grandpaAuthorities));
      },
    };
  }
}
