/** How a store of bytes keeps values, which are text to all others. */
export interface ValueCodec {
  encode(text: string): Uint8Array;
  /** Never throws: what cannot be read becomes text that is no JSON, and is reported where it is used. */
  decode(bytes: Uint8Array): string;
}

const utf8 = new TextDecoder();

export const plainText: ValueCodec = {
  encode: (text) => Buffer.from(text, 'utf8'),
  decode: (bytes) => utf8.decode(bytes),
};
