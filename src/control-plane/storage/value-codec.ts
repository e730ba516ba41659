/** Encodes values, which are text, for a store of bytes. */
export interface ValueCodec {
  encode(text: string): Uint8Array;
  /**
   * Decodes a value. Never throws: an invalid value becomes text that is not JSON, and is reported where it is used.
   */
  decode(bytes: Uint8Array): string;
}

const utf8 = new TextDecoder();

export const plainText: ValueCodec = {
  encode: (text) => Buffer.from(text, 'utf8'),
  decode: (bytes) => utf8.decode(bytes),
};
