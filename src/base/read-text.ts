import { Buffer } from 'node:buffer';

/**
 * The whole of a stream as text, or undefined when it is longer than `limitBytes`: then the rest is not read, and a
 * stream of Node is destroyed.
 */
export async function readText(chunks: AsyncIterable<Uint8Array>, limitBytes: number): Promise<string | undefined> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > limitBytes) return undefined;
    read.push(chunk);
  }
  return Buffer.concat(read).toString('utf8');
}
