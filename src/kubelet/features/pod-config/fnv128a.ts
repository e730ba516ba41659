import { Buffer } from 'node:buffer';

const LIMBS = 8;
const OFFSET_BASIS = 0x6c62272e07bb014262b821756295c58dn;
/** The prime is 2^88 + 0x13b, so a product is a small product plus a shift by five and a half limbs. */
const PRIME_LOW = 0x13b;

/**
 * FNV-1a with 128 bits over the UTF-8 bytes of `text`, as 32 hex digits: the form of a static pod's UID (upstream:
 * config/common.go). In 16-bit limbs because BigInt costs a hundred times more per byte.
 */
export function fnv128a(text: string): string {
  const hash = new Uint32Array(LIMBS);
  for (let limb = 0; limb < LIMBS; limb++) hash[limb] = Number((OFFSET_BASIS >> BigInt(16 * limb)) & 0xffffn);
  const next = new Uint32Array(LIMBS);
  for (const byte of Buffer.from(text, 'utf8')) {
    hash[0] = (hash[0] as number) ^ byte;
    let carry = 0;
    for (let limb = 0; limb < LIMBS; limb++) {
      const shifted = limb >= 5 ? (hash[limb - 5] as number) * 256 : 0;
      const sum = (hash[limb] as number) * PRIME_LOW + shifted + carry;
      next[limb] = sum & 0xffff;
      carry = sum >>> 16;
    }
    hash.set(next);
  }
  return [...hash]
    .reverse()
    .map((limb) => limb.toString(16).padStart(4, '0'))
    .join('');
}
