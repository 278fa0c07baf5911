/** Finds what was probably meant by a misspelt word. */

/**
 * The candidate nearest to `word`: at most two letters changed, added or left out (one in words of up to four),
 * regardless of letter case and of `-` instead of `_`. `undefined` when none is that near; the first of equals.
 */
export function nearestWord(word: string, candidates: Iterable<string>): string | undefined {
  const plain = normalise(word);
  const limit = plain.length <= 4 ? 1 : 2;
  let best: { word: string; distance: number } | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - plain.length) > limit) continue;
    const distance = editDistance(plain, normalise(candidate));
    if (distance <= limit && (best === undefined || distance < best.distance)) {
      best = { word: candidate, distance };
    }
  }
  return best?.word;
}

function normalise(word: string): string {
  return word.toLowerCase().replaceAll("-", "_");
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
