/** The devnet's chains and hub as the oracle sees them. */
import { toHash256 } from "../../src/core/protocol/bytes.ts";
import { consensusDigestCodec, timestampDigestCodec } from "../../src/core/protocol/ismp/host_state.ts";
import type { ConsensusStateId, StateMachine } from "../../src/core/protocol/ismp/state_machine.ts";
import { bytes, type Codec, decodeStrict } from "../../src/core/protocol/scale.ts";
import type { IsmpHost } from "./evm/deploy.ts";
import { advanceHub } from "./evm/host_admin.ts";
import type { Hub } from "./hub/hub.ts";
import type { HubState, OracleChain, OracleHub } from "./oracle.ts";

/** A chain with the name under which the hub stores it. */
interface KnownChain {
  readonly stateMachine: StateMachine;
  readonly consensusStateId: ConsensusStateId;
}

/** The hub, entered in its own process: its commitments are stored without a consensus proof. */
export function hubOracleEnd(hub: Hub, chains: readonly KnownChain[]): OracleHub {
  const ids = new Map(chains.map(({ stateMachine, consensusStateId }) => [stateMachine, consensusStateId]));
  return {
    stateMachine: hub.identity.stateMachine,
    fetchFinalState: () => Promise.resolve(finalStateOf(hub)),
    async storeCommitment(stateMachine, height, commitment): Promise<void> {
      const consensusStateId = ids.get(stateMachine);
      if (consensusStateId === undefined) throw new Error(`The hub has no light client of ${stateMachine}`);
      await hub.storeStateCommitment({ stateMachine, consensusStateId }, height, commitment);
    },
  };
}

/** An EVM chain, asked over its RPC; the hub's states reach it as consensus proofs that its client verifies. */
export function evmOracleEnd(
  { stateMachine, host }: { readonly stateMachine: StateMachine; readonly host: IsmpHost },
): OracleChain {
  return {
    stateMachine,
    async fetchFinalState(): ReturnType<OracleChain["fetchFinalState"]> {
      const { number, timestamp, stateRoot } = await host.reader.getBlock({ blockTag: "finalized" });
      // The header of block 0 does not name the root of its state (anvil).
      if (number === 0n) return undefined;
      return {
        height: number,
        commitment: { timestampSec: timestamp, overlayRoot: undefined, stateRoot: toHash256(stateRoot) },
      };
    },
    async advance(state): Promise<void> {
      await advanceHub(host, state);
    },
  };
}

/** Digest items of the hub's headers, after their kind byte: `Consensus` is 4, then four letters of the engine. */
const CONSENSUS_ITEM = 4;

function finalStateOf(hub: Hub): HubState | undefined {
  const { number, digest } = hub.finalizedHeader;
  const roots = findDigest(digest, "ISMP", consensusDigestCodec);
  const time = findDigest(digest, "ISTM", timestampDigestCodec);
  if (roots === undefined || time === undefined) return undefined;
  return { height: BigInt(number), ...time, ...roots };
}

function findDigest<T>(digest: readonly Uint8Array[], engine: string, codec: Codec<T>): T | undefined {
  const head = [CONSENSUS_ITEM, ...new TextEncoder().encode(engine)];
  const item = digest.find((each) => head.every((byte, at) => each[at] === byte));
  if (item === undefined) return undefined;
  const data = decodeStrict(bytes, item.slice(head.length), "DigestItem");
  return decodeStrict(codec, data, engine);
}
