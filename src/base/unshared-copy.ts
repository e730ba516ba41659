/**
 * A copy in memory of its own, for bytes that are kept long. `Buffer.from` may place a copy in a block of 64 KiB that
 * short-lived buffers share: one small copy would then hold the whole block.
 */
export function unsharedCopy(bytes: Uint8Array): Buffer<ArrayBuffer> {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
