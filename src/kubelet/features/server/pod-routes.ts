import type { Context, Hono } from 'hono';
import type { Pod } from '../../../api/core/pod.ts';
import type { LogQuery } from './log-query.ts';
import { streamBody } from './stream-body.ts';

/** A container as paths name it. */
export interface ContainerTarget {
  readonly namespace: string;
  readonly pod: string;
  /** The container; empty for the pod's only (or default) container, if that is allowed. */
  readonly container: string;
}

/** The pod data that all servers of the agent serve. */
export interface PodViews {
  /** Returns every pod with its latest status. */
  pods(): Pod[];
  /** Returns pods built from what the runtime runs, without their specs (upstream: /runningpods/). */
  runningPods(): Pod[];
  /** Returns the current configuration. */
  config(): unknown;
  /** Returns the existing log of a container, and on request later output. Rejects with NotFound or Invalid. */
  containerLog(target: ContainerTarget, query: LogQuery, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

export const podList = (items: Pod[]): object => ({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items });

export function addRunningPodsRoutes(app: Hono, views: Pick<PodViews, 'runningPods'>): void {
  for (const path of ['/runningpods/', '/runningpods'])
    app.get(path, (context) => context.json(podList(views.runningPods())));
}

export function addConfigRoute(app: Hono, views: Pick<PodViews, 'config'>): void {
  app.get('/configz', (context) =>
    context.json({ kubeletconfig: views.config() }, 200, { 'X-Content-Type-Options': 'nosniff' }),
  );
}

/**
 * Returns the log as a stream. The read ends when the client disconnects. Rejects as `containerLog` does, before
 * anything was sent.
 */
export async function logResponse(
  context: Context,
  views: Pick<PodViews, 'containerLog'>,
  target: ContainerTarget,
  query: LogQuery,
): Promise<Response> {
  const abort = new AbortController();
  const lines = await views.containerLog(target, query, abort.signal);
  context.header('Content-Type', 'text/plain; charset=utf-8');
  // The header is sent immediately, so that a client that follows a silent container sees that the stream has begun.
  context.header('Transfer-Encoding', 'chunked');
  return streamBody(context, async (out) => {
    out.onAbort(() => abort.abort());
    for await (const chunk of lines) await out.write(chunk);
  });
}
