/** Chains of a relayer that is watched: those in memory as records of parts, which the real ones are. */
import type { Chain } from "../../../src/core/chains/port.ts";
import type { ChainFees, ChainGas } from "../../../src/core/chains/fees.ts";
import { toConsensusStateId } from "../../../src/core/ismp/state_machine.ts";
import type { Clock } from "../../../src/core/runtime/clock.ts";
import { ethereum, hub } from "../../support/ledger_rows.ts";
import { MemoryChain } from "../../support/memory_chain.ts";
import { MemoryNode } from "../../support/memory_node.ts";
import { toRecord } from "../../support/with_methods.ts";

/** What a test changes. */
export interface WatchedOptions {
  readonly fetchBalance?: ChainGas["fetchBalance"];
}

/** The hub and one EVM chain. */
export function connectionsOf(
  clock: Clock,
  { fetchBalance = () => Promise.resolve(10n ** 18n) }: WatchedOptions = {},
): { readonly hub: Chain; readonly chains: readonly { readonly chain: Chain }[] } {
  const relayer = new Uint8Array(20);
  const hubId = { stateMachine: hub, consensusStateId: toConsensusStateId("PARA") };
  const evmId = { stateMachine: ethereum, consensusStateId: toConsensusStateId("ETH0") };
  const hubNode = new MemoryNode(clock, { id: hubId, family: "substrate", isHub: true });
  const evmNode = new MemoryNode(clock, { id: evmId, family: "evm" });
  const gas: ChainGas = {
    fetchBalance,
    fetchGasQuote: () => Promise.resolve({ gasPriceWei: 7n }),
    fetchRouterPrice: () => Promise.resolve(undefined),
  };
  const fees: ChainFees = {
    fetchFees: (commitments) => Promise.resolve({ units: commitments.map(() => undefined), decimals: 6 }),
  };
  return {
    hub: toRecord(new MemoryChain(hubNode, clock, { relayer })),
    chains: [{ chain: { ...toRecord<Chain>(new MemoryChain(evmNode, clock, { relayer })), gas, fees } }],
  };
}
