import type { Context, Hono } from 'hono';
import type { Pod } from '../../../api/core/pod.ts';
import type { LogQuery } from './log-query.ts';
import { streamBody } from './stream-body.ts';

/** A container as named in paths. */
export interface ContainerTarget {
  readonly namespace: string;
  readonly pod: string;
  /** Empty for the pod's only (or default) container, where that is allowed. */
  readonly container: string;
}

/** The pod data served by all servers of the agent. */
export interface PodViews {
  /** Every pod with its latest status. */
  pods(): Pod[];
  /** Pods built from what the runtime runs, without their specs (upstream: /runningpods/). */
  runningPods(): Pod[];
  /** The current configuration. */
  config(): unknown;
  /** The existing log of a container, and what follows it on request. Rejects with NotFound or Invalid. */
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
 * The log as a stream. Its reader ends when the client disconnects. Rejects as `containerLog` does, before anything was
 * sent.
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
  // The head is sent at once: a client that follows a silent container must see that the stream has begun.
  context.header('Transfer-Encoding', 'chunked');
  return streamBody(context, async (out) => {
    out.onAbort(() => abort.abort());
    for await (const chunk of lines) await out.write(chunk);
  });
}
