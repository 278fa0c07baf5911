/** What the hub's own records say of relayers' money: claimed requests, credit, and the payments that it ordered. */
import { fromHex, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { sr25519PublicKey } from "../../../src/core/ismp/signed_messages.ts";
import { parsePayment } from "../../../src/messaging/fees/withdrawals/payment_scan.ts";
import type { ChainHistory } from "../../../devnet/traffic/chain_history.ts";
import type { Devnet } from "../../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS, type DevnetRole } from "../../../devnet/evm/accounts.ts";

/** An order of the hub to pay a relayer, as a request to the chain that pays. */
export interface HubPayment {
  readonly commitment: string;
  readonly chain: string;
  /** Lower-case hex. */
  readonly beneficiary: string;
  /** Units of the chain's fee token. */
  readonly amount: bigint;
  /** Block of the hub that ordered it. */
  readonly height: bigint;
}

/** All of it at one block. Credit is in units of the chain's fee token, by {@link creditKey}. */
export interface HubBooks {
  /** Best block of the hub when they were read. */
  readonly at: bigint;
  /** Of the requests asked for: whether their fee was credited; `undefined`: the hub does not know the request. */
  readonly claimed: ReadonlyMap<string, boolean | undefined>;
  readonly credit: ReadonlyMap<string, bigint>;
}

/** Key of the credit of an account (lower-case hex) for requests of a chain. */
export function creditKey(chain: string, account: string): string {
  return `${chain} ${account}`;
}

/** The names under which the hub knows the key of a role: on EVM chains, and elsewhere. */
export function namesOf(role: DevnetRole): readonly string[] {
  return [
    DEVNET_ACCOUNTS[role].address.toLowerCase(),
    toHex(sr25519PublicKey(fromHex(DEVNET_KEYS[role]))),
  ];
}

/** Reads the books in one go: no block comes between. */
export function readBooks({ hub, chains, substrateChains }: Devnet, requests: Iterable<string>): HubBooks {
  const { governance } = hub;
  const credit = new Map<string, bigint>();
  for (const { stateMachine } of [...chains, ...substrateChains]) {
    for (const name of ROLES.flatMap(namesOf)) {
      credit.set(creditKey(stateMachine, name), governance.feesOf(stateMachine, fromHex(name)));
    }
  }
  const claimed = new Map(
    [...requests].map((request) => [request, governance.isClaimed(toHash256(request))]),
  );
  return { at: BigInt(hub.best.number), claimed, credit };
}

const ROLES: readonly DevnetRole[] = ["deployer", "relayer", "user", "relayer2", "oracle"];

/** The payments in a history of the hub. */
export function paymentsIn({ chain: hub, sent }: ChainHistory): readonly HubPayment[] {
  return sent.flatMap(({ commitment, post, dest, height }) => {
    const payment = post && parsePayment(post, { hub, chain: dest });
    if (payment === undefined) return [];
    const { beneficiary, amount } = payment;
    return [{ commitment, chain: dest, beneficiary: toHex(beneficiary), amount, height }];
  });
}
