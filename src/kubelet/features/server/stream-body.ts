import type { Context } from 'hono';
import { stream } from 'hono/streaming';
import type { StreamingApi } from 'hono/utils/stream';

/**
 * A response that is written as its client reads. `write` begins at once and is aborted when the client disconnects.
 * HEAD has the response of GET without its body, which Hono drops unread: the source, for example a followed log, would
 * otherwise stay open until it ends.
 */
export function streamBody(context: Context, write: (out: StreamingApi) => Promise<void>): Response {
  const answer = stream(context, write);
  if (context.req.method === 'HEAD') void answer.body?.cancel();
  return answer;
}
