/** Findings of start-up checks of a node. */
import type { EventCode } from "../../telemetry/events.ts";
import type { CheckFinding } from "../check_finding.ts";
import type { SubstrateNode } from "./node.ts";

/** Collects findings, each with the chain and endpoint it is about. */
export class Findings {
  readonly all: CheckFinding[] = [];
  constructor(readonly node: SubstrateNode) {}

  get hasFatal(): boolean {
    return this.all.some(({ severity }) => severity === "fatal");
  }

  fatal(event: EventCode, text: string): void {
    this.#add("fatal", event, text);
  }

  warn(event: EventCode, text: string): void {
    this.#add("warning", event, text);
  }

  #add(severity: CheckFinding["severity"], event: EventCode, text: string): void {
    this.all.push({
      severity,
      event,
      text: `${this.node.id.stateMachine} via ${this.node.client.host}: ${text}`,
    });
  }
}
