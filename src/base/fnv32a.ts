/** FNV-1a of 32 bits over the UTF-8 bytes of a text. Not cryptographic: collisions are easy to find. */
export function fnv32a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
