/** What a beacon node may do to those who ask it: the vocabulary of the profiles of REST nodes. */
import type { NodeRefusal, Scaled } from "./profile.ts";

/** One way in which a node is unkind. Routes are paths in which `*` stands for anything. */
export type RestBehaviour =
  /** Routes that the node has not. */
  | { readonly kind: "absent"; readonly routes: readonly string[]; readonly refusal: NodeRefusal }
  /** Routes whose last part may not be a root (`0x` and 64 digits). */
  | { readonly kind: "notByRoot"; readonly routes: readonly string[]; readonly refusal: NodeRefusal }
  /** Routes that take their time. */
  | { readonly kind: "slow"; readonly routes: readonly string[]; readonly delayMs: Scaled }
  /** Routes that answer with JSON, whatever is asked for. */
  | { readonly kind: "jsonOnly"; readonly routes: readonly string[] }
  /** Each so many requests one is refused, for no reason. */
  | { readonly kind: "hiccups"; readonly every: number; readonly refusal: NodeRefusal };
