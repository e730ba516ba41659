import { Buffer } from 'node:buffer';

/** The prime is 2^88 + 0x13b, so a product is a small product plus a shift by five and a half limbs. */
const PRIME_LOW = 0x13b;

/**
 * Computes FNV-1a with 128 bits over the UTF-8 bytes of `text`, as 32 hex digits. This is the form of a static pod's
 * UID (upstream: config/common.go). It uses eight 16-bit limbs, of which `a` is the lowest, because per byte BigInt
 * costs a hundred times more and an array of limbs three times more.
 */
export function fnv128a(text: string): string {
  // The offset basis of FNV.
  let [a, b, c, d, e, f, g, h] = [0xc58d, 0x6295, 0x2175, 0x62b8, 0x0142, 0x07bb, 0x272e, 0x6c62] as LimbList;
  for (const byte of Buffer.from(text, 'utf8')) {
    a ^= byte;
    const [shiftedF, shiftedG, shiftedH] = [a << 8, b << 8, c << 8];
    a *= PRIME_LOW;
    b = b * PRIME_LOW + (a >>> 16);
    c = c * PRIME_LOW + (b >>> 16);
    d = d * PRIME_LOW + (c >>> 16);
    e = e * PRIME_LOW + (d >>> 16);
    f = f * PRIME_LOW + shiftedF + (e >>> 16);
    g = g * PRIME_LOW + shiftedG + (f >>> 16);
    h = h * PRIME_LOW + shiftedH + (g >>> 16);
    a &= 0xffff;
    b &= 0xffff;
    c &= 0xffff;
    d &= 0xffff;
    e &= 0xffff;
    f &= 0xffff;
    g &= 0xffff;
    h &= 0xffff;
  }
  return [h, g, f, e, d, c, b, a].map((limb) => limb.toString(16).padStart(4, '0')).join('');
}

type LimbList = [number, number, number, number, number, number, number, number];
