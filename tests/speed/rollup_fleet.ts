/**
 * Rollups of one kind on one L1, and the hub that knows all of them: real contracts on a real L1 node; the rollups share
 * one node, which each shows as a chain of its own. Start reading at {@link startRollupFleet}.
 */
import { opStackState } from "../consensus/clients/op_stack/spec/vectors.ts";
import { arbitrumState } from "../consensus/clients/arbitrum/spec/vectors.ts";
import { createTestClient, http } from "viem";
import { startAnvil } from "../../devnet/evm/anvil.ts";
import { readerFor } from "../../devnet/evm/deploy.ts";
import { startHeaderRewriter } from "../../devnet/evm/header_rewriter.ts";
import { deployArbitrumL1, withSendRoots } from "../../devnet/evm/rollup_assertions.ts";
import { deployOpStackL1, MESSAGE_PASSER, prepareOpStackL2 } from "../../devnet/evm/rollup_games.ts";
import {
  connectRollupL1,
  fetchRollupBlock,
  type NodePlace,
  type RollupL1,
} from "../../devnet/evm/rollup_l1.ts";
import { client, ethereum, idOf } from "../../devnet/hub/consensus_work.ts";
import { type Hub, startHub } from "../../devnet/hub/hub.ts";
import { arbitrumConsensusStateCodec } from "../../src/consensus/clients/arbitrum/spec/update.ts";
import { opStackConsensusStateCodec } from "../../src/consensus/clients/op_stack/spec/update.ts";
import type { WritableTable } from "../../src/core/config/toml_text.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { type StateMachineId, toConsensusClientId } from "../../src/core/ismp/state_machine.ts";

/** Kinds of rollups. */
export type RollupKindName = "op_stack" | "arbitrum_orbit";

/** Chain id of the first rollup; the others follow. */
const FIRST_CHAIN_ID = 7_000_001;
const HUB_BLOCK_MS = 300;
/** The client under which rollups' heights are kept. */
const BEACON = toConsensusClientId("BEAC");

/** One rollup. */
interface FleetRollup {
  readonly id: StateMachineId;
  /** `type` of its section in the configuration. */
  readonly type: RollupKindName;
  readonly rpcUrl: string;
  /** Keys of its host section, without those of the L1. */
  readonly host: WritableTable;
  /** Claims the rollup's newest block on the L1. */
  claim(): Promise<unknown>;
}

/** Rollups with their L1 and the hub. */
export interface RollupFleet extends AsyncDisposable {
  readonly hub: Hub;
  readonly l1Url: string;
  readonly rollups: readonly FleetRollup[];
  /** Makes a new block of every rollup and claims it, and then lets the hub know the L1's newest block. */
  advance(): Promise<void>;
}

/** Starts so many rollups of a kind. Nothing is claimed yet. */
export async function startRollupFleet(kind: RollupKindName, count: number): Promise<RollupFleet> {
  await using started = new AsyncDisposableStack();
  const l1 = started.use(await startAnvil({ chainId: 11155111, slotsInAnEpoch: 1 }));
  const l2 = started.use(await startAnvil({ chainId: FIRST_CHAIN_ID }));
  const claims = connectRollupL1(l1);
  if (kind === "op_stack") await prepareOpStackL2(l2);
  const hub = started.use(await startHub({ blockTimeMs: HUB_BLOCK_MS }));
  await Promise.all([
    hub.createConsensusClient(client(ethereum, "BEAC", new Uint8Array())),
    hub.acceptMessages(BEACON, ethereum.stateMachine),
  ]);
  const rollups: FleetRollup[] = [];
  for (let at = 0; at < count; at++) {
    const id = idOf(FIRST_CHAIN_ID + at, `RO${String(at).padStart(2, "0")}`);
    const shown = started.use(await showAs(l2.rpcUrl, FIRST_CHAIN_ID + at, kind));
    const place = { rpcUrl: shown.rpcUrl, chainId: FIRST_CHAIN_ID + at };
    rollups.push({
      id,
      type: kind,
      rpcUrl: shown.rpcUrl,
      ...await startRollup(kind, { hub, claims, id, place }),
    });
  }
  const l2Miner = createTestClient({ mode: "anvil", chain: readerFor(l2).chain, transport: http(l2.rpcUrl) });
  const owned = started.move();
  return {
    hub,
    l1Url: l1.rpcUrl,
    rollups,
    advance: async () => {
      await l2Miner.mine({ blocks: 1 });
      for (const rollup of rollups) await rollup.claim();
      const { header } = await fetchRollupBlock(l1);
      await hub.plantCommitment(ethereum, header.number, {
        timestampSec: header.timestampSec,
        overlayRoot: undefined,
        stateRoot: header.stateRoot,
      });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The node, with another chain id. */
function showAs(
  upstream: string,
  chainId: number,
  kind: RollupKindName,
): ReturnType<typeof startHeaderRewriter> {
  return startHeaderRewriter({
    upstream,
    rule: kind === "arbitrum_orbit" ? withSendRoots : (header) => header,
    answers: ({ method }, result) =>
      Promise.resolve(method === "eth_chainId" ? `0x${chainId.toString(16)}` : result),
  });
}

/** A rollup that is about to be known to the hub. */
interface NewRollup {
  readonly hub: Hub;
  readonly claims: RollupL1;
  readonly id: StateMachineId;
  readonly place: NodePlace;
}

async function startRollup(
  kind: RollupKindName,
  { hub, claims, id, place }: NewRollup,
): Promise<Pick<FleetRollup, "host" | "claim">> {
  const at = { finalizedHeight: 0n, stateMachineId: id, l1StateMachineId: ethereum };
  if (kind === "op_stack") {
    const contracts = await deployOpStackL1(claims);
    const state = opStackConsensusStateCodec.enc(opStackState(at));
    await Promise.all([
      hub.createConsensusClient(client(id, "OPTC", state)),
      hub.governance.setDisputeGames(id, {
        factory: toAddress(contracts.factory),
        gameTypes: contracts.configs,
      }),
      hub.acceptMessages(BEACON, id.stateMachine),
    ]);
    return {
      host: { dispute_game_factory: contracts.factory, message_parser: MESSAGE_PASSER },
      claim: () => contracts.proposeOutput(place),
    };
  }
  const contracts = await deployArbitrumL1(claims);
  const state = arbitrumConsensusStateCodec.enc(arbitrumState(at));
  await Promise.all([
    hub.createConsensusClient(client(id, "ARBC", state)),
    hub.governance.setRollupCore(id, toAddress(contracts.rollup)),
    hub.acceptMessages(BEACON, id.stateMachine),
  ]);
  return { host: { rollup_core: contracts.rollup }, claim: () => contracts.createAssertion(place) };
}
