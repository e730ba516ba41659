import { Buffer } from 'node:buffer';

/**
 * Reads a whole stream as text. Returns undefined if it is longer than `limitBytes`; the rest is then not read, and a
 * stream of Node is destroyed. Rejects with the reason of `signal` if it has aborted: for a response without a length,
 * Node may report the abort as its regular end.
 */
export async function readText(
  chunks: AsyncIterable<Uint8Array>,
  limitBytes: number,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > limitBytes) return undefined;
    read.push(chunk);
  }
  signal?.throwIfAborted();
  return Buffer.concat(read).toString('utf8');
}
