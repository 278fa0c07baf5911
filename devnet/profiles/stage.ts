/** A behaviour at work: what it does to one request after the other. */
import type { Answer, Ask, Call, RpcBehaviour } from "./rpc_behaviour.ts";

/** A request as a behaviour sees it. */
export interface StageRequest {
  readonly transport: "http" | "socket";
  readonly calls: readonly Call[];
  readonly isBatch: boolean;
  readonly bytes: number;
  /** Asks the node itself, past all behaviours. */
  readonly ask: Ask;
  /** Milliseconds since any fixed moment. */
  readonly nowMs: number;
}

/** What a behaviour does to one request. */
export interface RequestStage {
  /** Answers a call, mostly by changing the call or the answer of `next`. Default: passes it on. */
  readonly answer?: (call: Call, next: Ask) => Promise<Answer>;
  /** Looks at the text of the whole answer. @throws {RefusedRequest} instead of it. */
  readonly close?: (body: string) => void;
}

/** A behaviour at work. */
export interface Stage {
  readonly kind: RpcBehaviour["kind"];
  /** Begins with a request. @throws {RefusedRequest} when the node refuses all of it. */
  begin(request: StageRequest): RequestStage | Promise<RequestStage>;
}

/** Told each time when a behaviour has changed what the client gets. */
export type Strike = () => void;
