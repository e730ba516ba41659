import type { Context } from 'hono';
import { stream } from 'hono/streaming';
import type { Clock } from '../../../base/clock.ts';
import type { PageFeed } from './page-feed.ts';

/** The maximum duration of a stream. The browser then opens the next one, which is authorized again. */
const LIFE_MS = 10 * 60_000;

/** Sends the events of the feed as server-sent events. */
export function eventStream(context: Context, feed: PageFeed, clock: Clock): Response {
  context.header('Content-Type', 'text/event-stream; charset=utf-8');
  // The header is sent immediately.
  context.header('Transfer-Encoding', 'chunked');
  if (context.req.method === 'HEAD') return context.body(null);
  return stream(context, async (out) => {
    const over = Promise.withResolvers<void>();
    // JSON has no line breaks: in strings they are escaped.
    const disconnect = feed.connect({
      send: async (event, json) => void (await out.write(`event: ${event}\ndata: ${json}\n\n`)),
      close: over.resolve,
    });
    if (disconnect === undefined) {
      await out.write('event: full\ndata: {}\n\n');
      return;
    }
    out.onAbort(over.resolve);
    const life = clock.setTimer(LIFE_MS, over.resolve);
    await over.promise;
    life.cancel();
    disconnect();
    out.abort();
  });
}
