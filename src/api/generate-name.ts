import type { Random } from '../base/random.ts';

/**
 * Letters and digits that form no words and are not confused with each other. Random names and hashes in names use them
 * (upstream: util/rand).
 */
export const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const LONGEST_NAME = 63;

/**
 * A name for `metadata.generateName`: five random characters after the prefix, which is cut to fit into a DNS label
 * (upstream: SimpleNameGenerator).
 */
export function generateName(prefix: string, random: Random): string {
  let name = prefix.slice(0, LONGEST_NAME - SUFFIX_LENGTH).toWellFormed();
  for (let count = 0; count < SUFFIX_LENGTH; count++)
    name += SAFE_ALPHABET[Math.floor(random.next() * SAFE_ALPHABET.length)] ?? 'x';
  return name;
}
