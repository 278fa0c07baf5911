/**
 * Native balances, as far as treasury, relayer fees and rewards need them: free balance and transfers.
 * Source: paritytech/polkadot-sdk: substrate/frame/balances/src/{lib,types}.rs.
 */
import { concatBytes, type Hash256, toHash256 } from "../../../src/core/encoding/bytes.ts";
import { hash256, Struct, u128, u32 } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { type Overlay, PalletStorage, type StorageReader } from "../storage.ts";

/** Smallest balance that an account may have: constant of both hubs (docs/protocol/hub.md section 0). */
export const existentialDeposit = 1_000_000_000n;

const accountInfoCodec = Struct({
  nonce: u32,
  consumers: u32,
  providers: u32,
  sufficients: u32,
  free: u128,
  reserved: u128,
  frozen: u128,
  flags: u128,
});

/** New accounts have the flag of the new balance logic (bit 127). */
const newAccount = {
  nonce: 0,
  consumers: 0,
  providers: 1,
  sufficients: 0,
  free: 0n,
  reserved: 0n,
  frozen: 0n,
  flags: 1n << 127n,
};

/** Account of a pallet: `modl`, the eight bytes of its id, zeros. */
export function palletAccount(id: string): Hash256 {
  const name = new TextEncoder().encode(`modl${id}`);
  return toHash256(concatBytes(name, new Uint8Array(32 - name.length)));
}

/** Pays rewards. Source: parachain/runtimes/{nexus,gargantua}/src/lib.rs (`TreasuryPalletId`). */
export const treasuryAccount: Hash256 = palletAccount("hb/trsry");

/** Holds the relayer fees of requests that were sent here. Source: modules/pallets/ismp/src/lib.rs. */
export const relayerFeeAccount: Hash256 = palletAccount("ISMPFEES");

/** The pallet. */
export class BalancesPallet extends PalletStorage {
  readonly #accounts = this.item("Account", [hash256], accountInfoCodec);

  constructor(metadata: RuntimeMetadata) {
    super(metadata, "System");
  }

  /** What an account owns. */
  free(reader: StorageReader, account: Hash256): bigint {
    return this.#accounts.get(reader, account)?.free ?? 0n;
  }

  /** Sets what an account owns, as `force_set_balance` does. */
  set(overlay: Overlay, account: Hash256, free: bigint): void {
    // Dust goes with the account.
    if (free < existentialDeposit) return this.#accounts.remove(overlay, account);
    this.#accounts.put(overlay, { ...(this.#accounts.get(overlay, account) ?? newAccount), free }, account);
  }

  /**
   * Moves an amount.
   * @param keepsAlive the payer must keep the existential deposit.
   * @returns false, with nothing changed, when the payer has too little or the payee would stay below the deposit.
   */
  transfer(
    execution: Execution,
    move: { readonly from: Hash256; readonly to: Hash256; readonly amount: bigint },
    keepsAlive: boolean,
  ): boolean {
    const { overlay } = execution;
    const { from, to, amount } = move;
    const [paying, receiving] = [this.free(overlay, from), this.free(overlay, to)];
    if (paying - amount < (keepsAlive ? existentialDeposit : 0n)) return false;
    if (receiving + amount < existentialDeposit) return false;
    if (from !== to) {
      this.set(overlay, from, paying - amount);
      this.set(overlay, to, receiving + amount);
    }
    execution.emit("Balances", "Transfer", {
      from: hash256.enc(from),
      to: hash256.enc(to),
      amount: u128.enc(amount),
    });
    return true;
  }
}
