/** HTTP around the routes: forms, refusals, lies, the record of requests, and bodies that stop when nobody reads. */
import type {
  BeaconQuestion,
  BeaconRequest,
  BeaconRoute,
  NodeBehaviour,
  OptionalRoutes,
  SimulatedBeaconNode,
} from "./beacon_options.ts";
import { RestRefusal, type ServedAnswer } from "./rest_answer.ts";
import type { BeaconChain } from "./chain.ts";
import { serveLocally, type TestServer } from "../../tests/support/test_server.ts";
import { RestRoutes, type RouteMatch } from "./rest_routes.ts";

/** Bytes handed over at a time. */
const chunkBytes = 65_536;

const optionalRoutes: Readonly<Partial<Record<BeaconRoute, OptionalRoutes>>> = {
  finalityUpdate: "lightClient",
  updates: "lightClient",
  bootstrap: "lightClient",
  lodestarProof: "lodestarProof",
  blindedBlock: "blindedBlocks",
  debugState: "debugStates",
};

type MutableRequest = { -readonly [K in keyof BeaconRequest]: BeaconRequest[K] };

/** A listening node. */
export class BeaconServer implements SimulatedBeaconNode {
  readonly url: string;
  requests: BeaconRequest[] = [];
  readonly #routes: RestRoutes;
  readonly #server: TestServer;
  #behaviour: NodeBehaviour;

  constructor(chain: BeaconChain, behaviour: Partial<NodeBehaviour>) {
    this.#behaviour = {
      without: behaviour.without ?? [],
      isSyncing: behaviour.isSyncing ?? false,
      hasJsonStatesOnly: behaviour.hasJsonStatesOnly ?? false,
      lie: behaviour.lie,
    };
    this.#routes = new RestRoutes(chain, () => this.#behaviour.isSyncing);
    this.#server = serveLocally({}, (request) => this.#serve(request));
    this.url = `http://127.0.0.1:${this.#server.port}`;
  }

  forgetRequests(): void {
    this.requests = [];
  }

  change(behaviour: Partial<NodeBehaviour>): void {
    this.#behaviour = { ...this.#behaviour, ...behaviour };
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #serve(request: Request): Response {
    const url = new URL(request.url);
    const match = request.method === "GET" ? this.#routes.find(url) : undefined;
    const accept = request.headers.get("accept") ?? "";
    const path = `${url.pathname}${url.search}`;
    const record: MutableRequest = { route: match?.route, path, accept, status: 200, bytes: 0 };
    this.requests.push(record);
    try {
      return this.#respond(this.#allowed(match, path), record);
    } catch (error) {
      if (!(error instanceof RestRefusal)) throw error;
      record.status = error.status;
      const text = JSON.stringify({ code: error.status, message: error.message });
      record.bytes = text.length;
      return new Response(text, {
        status: error.status,
        headers: { "content-type": "application/json" },
      });
    }
  }

  #allowed(match: RouteMatch | undefined, path: string): RouteMatch {
    const { without, isSyncing, lie } = this.#behaviour;
    const group = match === undefined ? undefined : optionalRoutes[match.route];
    if (match === undefined || (group !== undefined && without.includes(group))) {
      throw new RestRefusal(404, "Route not found");
    }
    if (isSyncing && match.route !== "syncing" && match.route !== "version") {
      throw new RestRefusal(503, "Node is currently syncing");
    }
    const status = lie?.status?.({ route: match.route, path });
    if (status !== undefined) throw new RestRefusal(status, "Refused");
    return match;
  }

  #respond(match: RouteMatch, record: MutableRequest): Response {
    const question = { route: match.route, path: record.path };
    const answer = match.answer();
    const { type, bytes } = this.#body(answer, record.accept, question);
    const headers = new Headers({ "content-type": type, "cache-control": "no-transform" });
    if (answer.version !== undefined) headers.set("eth-consensus-version", answer.version);
    return new Response(counted(bytes, record), { headers });
  }

  #body(
    answer: ServedAnswer,
    accept: string,
    question: BeaconQuestion,
  ): { type: string; bytes: Uint8Array } {
    const { lie, hasJsonStatesOnly } = this.#behaviour;
    if (answer.ssz !== undefined && !hasJsonStatesOnly) {
      if (accept.includes("octet-stream")) return { type: "application/octet-stream", bytes: answer.ssz() };
      throw new RestRefusal(406, "Too large for JSON: ask for octet-stream");
    }
    const json = answer.json();
    const text = JSON.stringify(lie?.json === undefined ? json : lie.json(question, json));
    return { type: "application/json", bytes: new TextEncoder().encode(text) };
  }
}

/** The body in pieces, each counted when the connection takes it. */
function counted(bytes: Uint8Array, record: MutableRequest): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller): void {
      if (at >= bytes.length) return controller.close();
      const chunk = bytes.subarray(at, at + chunkBytes);
      at += chunk.length;
      record.bytes = at;
      controller.enqueue(chunk.slice());
    },
  }, { highWaterMark: 0 });
}
