/** Samples of what decoders expect: everything in the known answers that one of them takes. */

const VECTORS = new URL("../vectors/", import.meta.url);

/** Bytes, values and texts of all vectors. */
export interface Corpus {
  readonly bytes: readonly Uint8Array[];
  /** Every object and list in them. */
  readonly json: readonly unknown[];
}

/** Most samples of one decoder: more of a kind find nothing new. */
const MAX_SAMPLES = 40;
/** Metadata of whole runtimes is larger. */
const MAX_BYTES = 400_000;

/** Reads all vectors once. */
export function readCorpus(): Corpus {
  const bytes = new Map<string, Uint8Array>();
  const json: unknown[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === "string") {
      if (/^0x(?:[0-9a-f]{2})+$/i.test(value) && value.length < MAX_BYTES) {
        bytes.set(
          value,
          Uint8Array.from(value.slice(2).match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)),
        );
      }
    } else if (typeof value === "object" && value !== null) {
      json.push(value);
      Object.values(value).forEach(visit);
    }
  };
  for (const { name } of Deno.readDirSync(VECTORS)) {
    if (!name.endsWith(".json") || name.startsWith("hub-metadata")) continue;
    visit(JSON.parse(Deno.readTextFileSync(new URL(name, VECTORS))));
  }
  return { bytes: [...bytes.values()], json };
}

/** A part of a corpus, spread over the whole of it: finding what a decoder takes means trying all. */
export function thinned({ bytes, json }: Corpus, step: number): Corpus {
  const isKept = (_: unknown, at: number): boolean => at % step === 0;
  return { bytes: bytes.filter(isKept), json: json.filter(isKept) };
}

/** The samples that a decoder takes, spread over all that it takes. */
export function takenBy<T>(samples: readonly T[], takes: (sample: T) => boolean): readonly T[] {
  const taken = samples.filter(takes);
  const step = Math.max(1, Math.floor(taken.length / MAX_SAMPLES));
  return taken.filter((_, at) => at % step === 0).slice(0, MAX_SAMPLES);
}
