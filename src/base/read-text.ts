import { Buffer } from 'node:buffer';

/**
 * The whole of a stream as text, or undefined when it is longer than `limitBytes`: then the rest is not read, and a
 * stream of Node is destroyed. Rejects with the reason of `signal` when that aborted meanwhile: Node may report the
 * end of an answer without a length as its regular end, although the abort cut it off.
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
