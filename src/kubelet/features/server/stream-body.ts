import type { Context } from 'hono';
import { stream } from 'hono/streaming';
import type { StreamingApi } from 'hono/utils/stream';

/**
 * Returns a response that is written while its client reads. `write` begins immediately and is aborted when the client
 * disconnects. For HEAD it has no body: Hono would drop a body unread, and the source, for example a followed log,
 * would stay open until it ends.
 */
export function streamBody(context: Context, write: (out: StreamingApi) => Promise<void>): Response {
  const answer = stream(context, write);
  if (context.req.method === 'HEAD') void answer.body?.cancel();
  return answer;
}
