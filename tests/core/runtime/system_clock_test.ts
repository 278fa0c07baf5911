import assert from "node:assert/strict";
import { steadyNow } from "../../../src/core/runtime/system_clock.ts";

/** A machine whose clock is set at will. */
class Machine {
  #elapsedMs = 5;
  #wallMs = 1_800_000_000_000;
  readonly now = steadyNow(() => this.#wallMs, () => this.#elapsedMs);

  pass(ms: number): void {
    this.#elapsedMs += ms;
    this.#wallMs += ms;
  }

  /** Sets the clock; no time passes. */
  set(byMs: number): void {
    this.#wallMs += byMs;
  }

  /** How far the clock that is read is ahead of the machine's, ms. */
  get aheadMs(): number {
    return this.now() - this.#wallMs;
  }
}

Deno.test("system clock: it is the machine's while nobody sets that, and follows it forward at once", () => {
  const machine = new Machine();
  for (const ms of [1, 250, 86_400_000]) {
    machine.pass(ms);
    assert.equal(machine.aheadMs, 0);
  }
  machine.set(2_545_000);
  assert.equal(machine.aheadMs, 0);
});

Deno.test("system clock: set back by 42 minutes, it goes at half its speed until the machine's has caught up", () => {
  const machine = new Machine();
  const before = machine.now();
  const stepMs = 2_545_000;
  machine.set(-stepMs);
  assert.equal(machine.now(), before);
  machine.pass(60_000);
  assert.equal(machine.now(), before + 30_000);
  let last = machine.now();
  for (let passed = 60_000; passed < 2 * stepMs; passed += 10_000) {
    machine.pass(10_000);
    assert.ok(machine.now() > last);
    last = machine.now();
  }
  assert.equal(machine.aheadMs, 0);
  machine.pass(1_000);
  assert.equal(machine.now(), last + 1_000);
});
