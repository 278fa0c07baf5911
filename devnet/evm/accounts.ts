/**
 * Who acts on a devnet chain: anvil's well-known accounts (mnemonic "test test ... junk"), 10,000 native tokens each.
 * The keys are public knowledge and worth nothing.
 */
import type { Hex, PrivateKeyAccount } from "viem";
import { privateKeyToAccount } from "viem/accounts";

/** Private keys by role; the numbers are the positions in anvil's list. */
export const DEVNET_KEYS = {
  /** 0: deploys, is the admin of every host. */
  deployer: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  /** 1: the relayer under test. */
  relayer: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
  /** 2: sends messages. */
  user: "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
  /** 3: a second, racing relayer. */
  relayer2: "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
  /** 4: the only authority of every hub authority set; also advances the hub's commitments. */
  oracle: "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
  /** 5: makes claims about rollups on their L1. */
  proposer: "0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
} as const satisfies Record<string, Hex>;

/** A role on the devnet. */
export type DevnetRole = keyof typeof DEVNET_KEYS;

/** The accounts of the roles, able to sign. */
export const DEVNET_ACCOUNTS: Readonly<Record<DevnetRole, PrivateKeyAccount>> = {
  deployer: privateKeyToAccount(DEVNET_KEYS.deployer),
  relayer: privateKeyToAccount(DEVNET_KEYS.relayer),
  user: privateKeyToAccount(DEVNET_KEYS.user),
  relayer2: privateKeyToAccount(DEVNET_KEYS.relayer2),
  oracle: privateKeyToAccount(DEVNET_KEYS.oracle),
  proposer: privateKeyToAccount(DEVNET_KEYS.proposer),
};
