/** Light client of parachains on chains of the same relay chain, as the registry lists it. */
import type { ParachainClient } from "../../client.ts";
import { createParachainProver, PARACHAIN_CLIENT_ID } from "./parachain_prover.ts";

/** Heads in the state of the relay chain. */
export const parachainClient: ParachainClient = {
  clientId: PARACHAIN_CLIENT_ID,
  createProver: createParachainProver,
};
