/**
 * RPC methods of nodes whose chain is made final by GRANDPA.
 * Source: paritytech/polkadot-sdk: substrate/client/consensus/grandpa/rpc/src.
 */
import { toHex } from "../../src/core/encoding/bytes.ts";
import type { ServedNode } from "../hub/node.ts";
import { RpcError } from "../hub/rpc/json_rpc.ts";
import { type RpcMethod, type RpcMethods, RpcSubscription } from "../hub/rpc/method.ts";
import { u32Param } from "../hub/rpc/params.ts";
import { FinalityProofError, type GrandpaVotes } from "./grandpa_votes.ts";

/** The methods. */
export function grandpaMethods(node: ServedNode, votes: GrandpaVotes): RpcMethods {
  return {
    grandpa_proveFinality: ([block]) => {
      try {
        return toHex(votes.prove(u32Param(block, "block")));
      } catch (error) {
        if (!(error instanceof FinalityProofError)) throw error;
        throw new RpcError(4, `GRANDPA prove finality rpc failed: ${error.message}`);
      }
    },
    grandpa_subscribeJustifications: justifications(
      node,
      "grandpa_justifications",
      (number) => number === 0 ? undefined : votes.justification(number),
    ),
  };
}

/** Of every block that becomes final from now on, as hex. */
export function justifications(
  node: ServedNode,
  notification: string,
  read: (number: number) => Uint8Array | undefined,
): RpcMethod {
  return () => {
    let reported = node.chain.finalized.header.number;
    return new RpcSubscription(notification, (send) =>
      node.follow(() => {
        for (let number = reported + 1; number <= node.chain.finalized.header.number; number++) {
          const justification = read(number);
          if (justification === undefined) continue;
          send(toHex(justification));
          reported = number;
        }
      }));
  };
}
