/** Leaves of the hub's mountain range. */
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import type { Leaf, Request } from "../../../src/core/ismp/message.ts";
import { commitmentOfGet, commitmentOfPost, commitmentOfResponse } from "../../../src/core/ismp/message.ts";

/** Commitment of a request of either kind. */
export function commitmentOfRequest(request: Request): Hash256 {
  return request.tag === "Post" ? commitmentOfPost(request.value) : commitmentOfGet(request.value);
}

/** Leaf hash in the hub's MMR: the commitment itself. */
export function mmrLeafHash(leaf: Leaf): Hash256 {
  return leaf.tag === "Request" ? commitmentOfRequest(leaf.value) : commitmentOfResponse(leaf.value);
}
