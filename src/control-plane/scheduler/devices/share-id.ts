const PRIME = 0x1000000000000000000013bn;
const OFFSET = 0x6c62272e07bb014262b821756295c58dn;
const MASK = (1n << 128n) - 1n;

/**
 * Returns the ID of a device share: a UUID of version 8 from the FNV-1a hash of its purpose. Equal decisions give equal
 * IDs, so a decision that is repeated after a conflict is recognized.
 */
export function shareIdOf(text: string): string {
  let hash = OFFSET;
  for (const byte of new TextEncoder().encode(text)) hash = ((hash ^ BigInt(byte)) * PRIME) & MASK;
  const hex = hash.toString(16).padStart(32, '0');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20)].join('-');
}
