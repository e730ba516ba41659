import type { Library } from '../environment.ts';
import { globalFunction as fn } from '../environment.ts';
import { bytesType, stringType } from '../types.ts';
import type { CelResult } from '../values.ts';
import { CelError } from '../values.ts';

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Bytes of base64, with padding or without. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const padding = text.indexOf('=');
  const bare = padding < 0 ? text : text.slice(0, padding);
  if (!base64.test(text) || bare.length % 4 === 1) return undefined;
  return Uint8Array.from(Buffer.from(text, 'base64'));
}

function decode(text: string): CelResult {
  return decodeBase64(text) ?? new CelError('illegal base64 data');
}

export const encoders: Library = {
  functions: {
    'base64.decode': [fn('base64_decode_string', [stringType], bytesType, decode)],
    'base64.encode': [
      fn('base64_encode_bytes', [bytesType], stringType, (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')),
    ],
  },
};
