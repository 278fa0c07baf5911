/** Hub: a Substrate chain that also knows the other chains, and keeps accounts for relayers. */
import type { HubChain } from "../hub.ts";
import { SubstrateAcceptedProofs } from "./accepted_proofs.ts";
import { planSubstrateChecks } from "./chain_checks.ts";
import { checkAcceptedProofs } from "./offchain_rows.ts";
import { SubstrateCounterparties } from "./counterparties.ts";
import { SubstrateHubCalls } from "./hub_calls.ts";
import { SubstrateHubRewards, SubstrateRelayerAccounts } from "./relayer_accounts.ts";
import { HubSenderLimits } from "./sender_limits.ts";
import {
  assembleSubstrateChain,
  createChainContext,
  type SubstrateChainDeps,
  type SubstrateNodeOptions,
} from "./substrate_chain.ts";

/**
 * Decimals of fees that the hub itself charges: polytope-labs/hyperbridge: tesseract/messaging/substrate, default.
 */
const HUB_FEE_TOKEN_DECIMALS = 6;

/** Creates the hub; connects at the first call. @throws {SignatureError} for a bad signer. */
export function createHubChain(
  deps: SubstrateChainDeps,
  options: SubstrateNodeOptions,
): HubChain {
  const context = createChainContext(deps, options, { isHub: true, use: "hub" });
  const { node, outcomes } = context;
  const chain = assembleSubstrateChain(context, { ...options, feeTokenDecimals: HUB_FEE_TOKEN_DECIMALS });
  const acceptedProofs = new SubstrateAcceptedProofs(node);
  return {
    ...chain,
    planChecks: ({ hub, fetchKnownHeight }) =>
      planSubstrateChecks(node, {
        check: (signal) => chain.check(hub, signal),
        fetchNeededHeight: fetchKnownHeight,
        checkOffchain: (signal) => checkAcceptedProofs(node, acceptedProofs, signal),
      }),
    outcomes,
    counterparties: new SubstrateCounterparties(node),
    senderLimits: new HubSenderLimits(node),
    accounts: new SubstrateRelayerAccounts(node),
    rewards: new SubstrateHubRewards(node),
    hubCalls: new SubstrateHubCalls(node, chain.limits.maxCallBytes, chain.reads),
    acceptedProofs,
  };
}
