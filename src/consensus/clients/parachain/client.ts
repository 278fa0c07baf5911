/** Light client of parachains on chains of the same relay chain, as the registry lists it. */
import { consensusClientIds } from "../../../core/ismp/consensus_client_ids.ts";
import type { ParachainClient } from "../../client.ts";
import { createParachainProver } from "./parachain_prover.ts";

/** Heads in the state of the relay chain. */
export const parachainClient: ParachainClient = {
  clientId: consensusClientIds.parachain,
  createProver: createParachainProver,
};
