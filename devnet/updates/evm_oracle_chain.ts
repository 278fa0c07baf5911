/** The devnet's EVM chains as the oracle sees them. */
import { toHex } from "../../src/core/encoding/bytes.ts";
import type { StateMachine } from "../../src/core/ismp/state_machine.ts";
import type { IsmpHost } from "../evm/deploy.ts";
import { deliverProof, readHubConsensus } from "../evm/host_admin.ts";
import type { HubProver } from "./hub_prover.ts";
import type { OracleChain, UpdateStep } from "./oracle.ts";

/**
 * An EVM chain, to which the hub is proved by the signatures of the relay chain. Its own states are proved to the hub by
 * others.
 * @param prover undefined: the hub's proofs are left to relayers, too.
 */
export function evmOracleChain(
  { stateMachine, host }: { readonly stateMachine: StateMachine; readonly host: IsmpHost },
  prover: HubProver | undefined,
): OracleChain {
  return { stateMachine, ...prover && { proveHub: hostUpdates(host, prover) } };
}

/** One proof for each session that the host has missed, and one for newer heights. */
function hostUpdates(host: IsmpHost, prover: HubProver): UpdateStep {
  return async (last, isAsked) => {
    if (isAsked) prover.cover();
    for (let known = last;;) {
      const trusted = await readHubConsensus(host);
      const found = await prover.prove(trusted, known);
      if (found === undefined) return known;
      await deliverProof(host, toHex(found.proof));
      if (found.height > known) known = found.height;
      if (found.state.current.id === trusted.current.id) return known;
    }
  };
}
