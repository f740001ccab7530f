// What two texts share: numbers and names count, the small words of a language do not. The same rule as `agentfootprint why`.

const SMALL = new Set(
  "about after also been before between could does from have into more must only other over should some than that their them then there these they this those under until very were what when where which while will with would your yours".split(" "),
);

/** The telling words of a text, lower case: anything with a digit, and longer words that are not small. */
export function telling(text: string, limit = 200_000): Set<string> {
  const words = new Set<string>();
  for (const raw of text.slice(0, limit).split(/[^\p{L}\p{N}\-_.:%]+/u)) {
    const word = raw.replace(/^[-_.:]+|[-_.:]+$/g, "").toLowerCase();
    if (word === "") continue;
    if (/[0-9]/.test(word) || ([...word].length >= 4 && !SMALL.has(word))) words.add(word);
  }
  return words;
}

/** A word the person used says little about where the answer comes from. */
const ASKED_WEIGHT = 0.1;

export interface Ranked<T> {
  item: T;
  /** Share of the wanted telling words that it carries, rare ones counting more; 0 to 1. */
  score: number;
  shared: string[];
}

/** Best first; items that share nothing are left out. A correlation, never a proof. */
export function rank<T>(items: readonly T[], textOf: (item: T) => string, wantedText: string, askedText: string): Ranked<T>[] {
  const wanted = telling(wantedText);
  const asked = telling(askedText);
  const words = items.map((item) => [...telling(textOf(item))].filter((word) => wanted.has(word)));
  const carriers = new Map<string, number>();
  for (const word of words.flat()) carriers.set(word, (carriers.get(word) ?? 0) + 1);
  const weight = (word: string): number => (asked.has(word) ? ASKED_WEIGHT : 1) / (carriers.get(word) ?? 1);
  let total = 0;
  for (const word of carriers.keys()) total += weight(word);
  return items
    .map((item, i) => ({
      item,
      shared: words[i]!.sort(),
      score: total > 0 ? words[i]!.reduce((sum, word) => sum + weight(word), 0) / total : 0,
    }))
    .filter((row) => row.score > 0)
    .sort((a, b) => b.score - a.score);
}
