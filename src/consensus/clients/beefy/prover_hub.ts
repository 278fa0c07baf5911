/**
 * The hub behind `[hub.prover].para_rpc_ws`: the events in its blocks decide which heads are worth a proof. Upstream's
 * prover connects to that node as well, and asks `[substrate].rpc_ws` alone for events (polytope-labs/hyperbridge:
 * tesseract/consensus/beefy/src/prover.rs); here the configured node is asked.
 */
import type { CheckFinding } from "../../../core/chains/check_finding.ts";
import type { Chain } from "../../../core/chains/port.ts";
import type { ChainEvents } from "../../../core/chains/reads.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { RelayChain } from "../../relay_chain/relay_chain.ts";
import type { WorkHub } from "./hub_work.ts";

/** Reads of a node's genesis block. */
export type GenesisReader = Pick<RelayChain, "host" | "fetchHash" | "close">;

/** Both nodes of the hub. */
export interface ProverHubDeps {
  readonly hub: StateMachine;
  readonly hubNode: WorkHub & Pick<Chain, "close">;
  /** The same node as {@link hubNode}. */
  readonly own: GenesisReader;
  /** The node behind `[hub.substrate].rpc_ws`, which the other checks cover. */
  readonly main: GenesisReader;
}

/** Events of the hub, from a node that is verified to belong to the hub. */
export class ProverHub implements WorkHub {
  /** Faults also with `wrong_chain`, when the node was unavailable for the start-up check. */
  readonly events: ChainEvents = {
    fetchEvents: async (from, to, signal) => {
      await this.#confirmHub(signal);
      return await this.#deps.hubNode.events.fetchEvents(from, to, signal);
    },
  };
  /** As {@link events}. */
  readonly reads: WorkHub["reads"] = {
    fetchFinalHeight: async (signal) => {
      await this.#confirmHub(signal);
      return await this.#deps.hubNode.reads.fetchFinalHeight(signal);
    },
  };
  readonly #deps: ProverHubDeps;
  #isHub = false;

  constructor(deps: ProverHubDeps) {
    this.#deps = deps;
  }

  /** Compares the genesis blocks of the nodes. */
  async check(signal: AbortSignal): Promise<readonly CheckFinding[]> {
    const { own, main } = this.#deps;
    if (await this.#fetchIsHub(signal)) return [];
    const text = `[hub.prover].para_rpc_ws: ${own.host} is a node of another chain than ${main.host} of ` +
      "[hub.substrate].rpc_ws (their first blocks differ); set it to a node of the hub, or leave it out";
    return [{ severity: "fatal", event: "endpoint_wrong_chain", text }];
  }

  /** Ends the connections. */
  async close(): Promise<void> {
    const { hubNode, own, main } = this.#deps;
    await Promise.all([hubNode.close(), own.close(), main.close()]);
  }

  async #confirmHub(signal: AbortSignal): Promise<void> {
    const { hub, own } = this.#deps;
    if (await this.#fetchIsHub(signal)) return;
    const where = { chain: hub, endpointHost: own.host, method: "chain_getBlockHash" };
    const detail = "[hub.prover].para_rpc_ws is a node of another chain";
    throw new RpcFault("wrong_chain", "stop", where, { detail });
  }

  async #fetchIsHub(signal: AbortSignal): Promise<boolean> {
    if (this.#isHub) return true;
    const genesis = (node: GenesisReader): Promise<Hash256> => node.fetchHash(0, signal);
    const [first, other] = await Promise.all([genesis(this.#deps.own), genesis(this.#deps.main)]);
    this.#isHub = first === other;
    return this.#isHub;
  }
}
