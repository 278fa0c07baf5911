/**
 * The L1 side of an Arbitrum chain of the devnet: assertions (BoLD) and nodes (before it) about the blocks of an L2 node
 * whose headers carry a send root, which takes a header rewriter in front of it (see {@link withSendRoots}).
 * Start reading at {@link deployArbitrumL1}.
 */
import { type Abi, type Address, type Hex, keccak256, numberToHex, parseAbi, parseEventLogs } from "viem";
import { concatBytes, fromHex, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { compileContracts } from "./compile.ts";
import type { HeaderRule } from "./header_rewriter.ts";
import { fetchRollupBlock, type NodePlace, type RollupL1 } from "./rollup_l1.ts";

const ROLLUP_EVENTS = parseAbi([
  "struct GlobalState { bytes32[2] bytes32Vals; uint64[2] u64Vals; }",
  "struct AssertionState { GlobalState globalState; uint8 machineStatus; bytes32 endHistoryRoot; }",
  "struct ConfigData { bytes32 wasmModuleRoot; uint256 requiredStake; address challengeManager; uint64 confirmPeriodBlocks; uint64 nextInboxPosition; }",
  "struct BeforeStateData { bytes32 prevPrevAssertionHash; bytes32 sequencerBatchAcc; ConfigData configData; }",
  "struct AssertionInputs { BeforeStateData beforeStateData; AssertionState beforeState; AssertionState afterState; }",
  "event AssertionCreated(bytes32 indexed assertionHash, bytes32 indexed parentAssertionHash, AssertionInputs assertion, bytes32 afterInboxBatchAcc, uint256 inboxMaxCount, bytes32 wasmModuleRoot, uint256 requiredStake, address challengeManager, uint64 confirmPeriodBlocks)",
]);

const ZERO: Hash256 = numberToHex(0, { size: 32 });
const RUNNING = 0;
const FINISHED = 1;

/** Headers as those of Nitro: 16 fields, a send root as extra data, which is different for every block. */
export const withSendRoots: HeaderRule = (header) => ({
  ...header,
  extraData: fromHex(
    keccak256(concatBytes(fromHex(header.stateRoot), fromHex(numberToHex(header.number, { size: 32 })))),
  ),
  withdrawalsRoot: undefined,
  blobGasUsed: undefined,
  excessBlobGas: undefined,
  parentBeaconBlockRoot: undefined,
  requestsHash: undefined,
});

/** What to claim instead of the truth about the newest block. */
export interface AssertionOptions {
  /** Default: the newest assertion that was created as a first child. */
  readonly parent?: Hash256;
  readonly blockHash?: Hash256;
  readonly sendRoot?: Hash256;
}

/** A claim that was made. */
export interface CreatedAssertion {
  readonly assertionHash: Hash256;
  readonly parent: Hash256;
  readonly l2Height: bigint;
}

/** The contracts of one Arbitrum chain on an L1, of both generations. */
export interface ArbitrumL1 {
  /** With BoLD. */
  readonly rollup: Address;
  /** From before BoLD. */
  readonly nodeRollup: Address;
  /** Creates an assertion about the newest block of the L2. */
  createAssertion(l2: NodePlace, options?: AssertionOptions): Promise<CreatedAssertion>;
  /** Creates a competitor: a second child of the same parent. */
  contestAssertion(assertion: CreatedAssertion): Promise<void>;
  /** Creates a node about the newest block of the L2. */
  createNode(
    l2: NodePlace,
    options?: Pick<AssertionOptions, "blockHash" | "sendRoot">,
  ): Promise<Pick<CreatedAssertion, "l2Height">>;
}

/** Deploys both generations of the rollup contract; about 0.2 s. */
export async function deployArbitrumL1(l1: RollupL1): Promise<ArbitrumL1> {
  const { BoldRollup, NodeRollup } = await compileContracts();
  const rollup = await l1.deploy("BoldRollup");
  const nodeRollup = await l1.deploy("NodeRollup");
  const genesis = await l1.reader.readContract({
    address: rollup,
    abi: parseAbi(["function genesisAssertionHash() view returns (bytes32)"]),
    functionName: "genesisAssertionHash",
  });
  let newest: Hash256 = toHash256(genesis);
  let made = 0n;
  const create = async (
    claim: { readonly parent: Hash256; readonly state: GlobalState },
  ): Promise<Omit<CreatedAssertion, "l2Height">> => {
    const contract = { address: rollup, abi: BoldRollup.abi };
    return { assertionHash: await createAssertion(l1, contract, claim, ++made), parent: claim.parent };
  };
  return {
    rollup: toAddress(rollup),
    nodeRollup: toAddress(nodeRollup),
    createAssertion: async (l2, options = {}) => {
      const { height, state } = await claimAbout(l2, options);
      const created = await create({ parent: options.parent ?? newest, state });
      newest = created.assertionHash;
      return { ...created, l2Height: height };
    },
    contestAssertion: async ({ parent, assertionHash }) => {
      // The competitor claims a block that does not exist.
      await create({ parent, state: { blockHash: keccak256(assertionHash), sendRoot: keccak256(parent) } });
    },
    createNode: async (l2, options = {}) => {
      const { height, state } = await claimAbout(l2, options);
      await createNode(l1, { address: nodeRollup, abi: NodeRollup.abi }, state, ++made);
      return { l2Height: height };
    },
  };
}

/** The part of a global state that names a block. */
interface GlobalState {
  readonly blockHash: Hex;
  readonly sendRoot: Hex;
}

async function claimAbout(
  l2: NodePlace,
  options: Pick<AssertionOptions, "blockHash" | "sendRoot">,
): Promise<{ readonly height: bigint; readonly state: GlobalState }> {
  const { header, hash } = await fetchRollupBlock(l2);
  const { blockHash = hash, sendRoot = toHash256(header.extraData) } = options;
  return { height: header.number, state: { blockHash, sendRoot } };
}

interface Contract {
  readonly address: Address;
  readonly abi: Abi;
}

/** A global state as the contracts take it; `position` is the number of batches that were read. */
function globalState({ blockHash, sendRoot }: GlobalState, position: bigint): object {
  return { bytes32Vals: [blockHash, sendRoot], u64Vals: [position, 0n] };
}

const nowhere = globalState({ blockHash: ZERO, sendRoot: ZERO }, 0n);

async function createAssertion(
  l1: RollupL1,
  { address, abi }: Contract,
  claim: { readonly parent: Hash256; readonly state: GlobalState },
  number: bigint,
): Promise<Hash256> {
  const configData = {
    wasmModuleRoot: keccak256("0x01"),
    requiredStake: 1n,
    challengeManager: address,
    confirmPeriodBlocks: 45_818n,
    nextInboxPosition: number,
  };
  const assertion = {
    beforeStateData: { prevPrevAssertionHash: ZERO, sequencerBatchAcc: ZERO, configData },
    beforeState: { globalState: nowhere, machineStatus: FINISHED, endHistoryRoot: ZERO },
    afterState: {
      globalState: globalState(claim.state, number),
      machineStatus: FINISHED,
      endHistoryRoot: ZERO,
    },
  };
  const inboxAcc = keccak256(numberToHex(number, { size: 32 }));
  const receipt = await l1.call(address, abi, "createAssertion", [claim.parent, assertion, inboxAcc]);
  const [created] = parseEventLogs({ abi: ROLLUP_EVENTS, logs: receipt.logs });
  if (created === undefined) throw new Error("The rollup created no assertion");
  return toHash256(created.args.assertionHash);
}

async function createNode(
  l1: RollupL1,
  { address, abi }: Contract,
  state: GlobalState,
  number: bigint,
): Promise<void> {
  const assertion = {
    beforeState: { globalState: nowhere, machineStatus: RUNNING },
    afterState: { globalState: globalState(state, number), machineStatus: FINISHED },
    numBlocks: 1n,
  };
  await l1.call(address, abi, "createNode", [
    assertion,
    keccak256(numberToHex(number, { size: 32 })),
    number,
  ]);
}
