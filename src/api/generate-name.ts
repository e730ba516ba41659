import type { Random } from '../base/random.ts';

/**
 * Letters and digits that make no words and are not mistaken for each other: what random names and hashes in names are
 * made of (upstream: util/rand).
 */
export const safeAlphabet = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const longestName = 63;

/**
 * A name for `metadata.generateName`: the prefix, cut so that all fits into a DNS label, and five random characters
 * (upstream: SimpleNameGenerator).
 */
export function generateName(prefix: string, random: Random): string {
  let name = prefix.slice(0, longestName - suffixLength).toWellFormed();
  for (let count = 0; count < suffixLength; count++)
    name += safeAlphabet[Math.floor(random.next() * safeAlphabet.length)] ?? 'x';
  return name;
}
