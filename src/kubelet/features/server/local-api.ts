import type { Context } from 'hono';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { ErrorKind } from '../../../base/errors.ts';
import { errorKind, errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Event } from '../../../api/core/event.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodExplanation } from '../../../api/explanation/explanation.ts';
import type { EvictionReport } from '../../model/eviction-report.ts';
import type { ImageGcReport } from '../../model/image-gc-report.ts';
import type { HealthCheck } from './health-app.ts';
import { addHealthRoutes } from './health-app.ts';
import { parseLogQuery } from './log-query.ts';
import type { ContainerTarget, PodViews } from './pod-routes.ts';
import { addConfigRoute, addRunningPodsRoutes, logResponse, podList } from './pod-routes.ts';
import type { ScrapeEndpoints } from './scrape-routes.ts';
import { addScrapeRoutes } from './scrape-routes.ts';
import { streamBody } from './stream-body.ts';

/** The data and operations of the local API, as small interfaces that the compose files implement. */
export interface LocalApiSources extends PodViews {
  explain(): PodExplanation[];
  /** Returns the events of the last hour, oldest first. */
  events(): Event[];
  /** Returns obstacles to pods that do not exist yet, such as manifests that could not be read. */
  problems(): readonly Problem[];
  /** Returns what the agent would do for the manifests in `text`, without doing it. */
  plan(text: string): Promise<PlannedPod[]>;
  /** Returns the runtime's streaming URL for a command in a container. */
  exec(target: ContainerTarget, request: ExecRequest): Promise<string>;
  /** Calls `onChange` with each pod whose status changed. Returns a function that unsubscribes. */
  watch(onChange: (change: PodChange) => void): () => void;
  /** Returns what would be evicted now. Rejects if nothing is measured. */
  eviction(): Promise<EvictionReport>;
  /** Returns what image garbage collection would remove now. */
  imageGc(): Promise<ImageGcReport>;
  readonly checks: Readonly<Record<string, HealthCheck>>;
  /** Statistics and metrics; absent if nothing is measured. */
  readonly scrape?: ScrapeEndpoints;
}

export interface Problem {
  readonly message: string;
  /** Whether it prevents a wanted pod from running; false for a warning. */
  readonly blocking: boolean;
}

export interface ExecRequest {
  readonly command: readonly string[];
  readonly tty: boolean;
  readonly stdin: boolean;
}

export interface PodChange {
  readonly type: 'MODIFIED' | 'DELETED';
  readonly pod: Pod;
}

export interface PlannedPod {
  readonly pod: string;
  readonly steps: readonly string[];
  readonly problems: readonly string[];
}

const statusOf: Readonly<Record<ErrorKind, 400 | 404 | 409 | 500 | 501 | 503 | 504>> = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Invalid: 400,
  Unavailable: 503,
  Timeout: 504,
  Unimplemented: 501,
  Aborted: 503,
  Internal: 500,
};

/** The size limit of manifests to plan, as for all manifests. */
const PLAN_LIMIT_BYTES = 10 * 1024 * 1024;

/**
 * Creates the API on the root-only unix socket: upstream's read endpoints, and what the command line needs in addition.
 */
export function createLocalApi(sources: LocalApiSources): Hono {
  const app = new Hono();
  app.onError((error, context) => context.text(`${errorMessage(error)}\n`, statusOf[errorKind(error)]));
  addHealthRoutes(app, sources.checks);
  addReadRoutes(app, sources);
  addPodRoutes(app, sources);
  addScrapeRoutes(app, sources.scrape ?? new Map());
  app.get('/api/watch', (context) => watchRoute(context, sources));
  return app;
}

function addReadRoutes(app: Hono, sources: LocalApiSources): void {
  app.get('/pods', (context) => context.json(podList(sources.pods())));
  addRunningPodsRoutes(app, sources);
  addConfigRoute(app, sources);
  app.get('/explain', (context) => context.json(sources.explain()));
  app.get('/api/events', (context) =>
    context.json({ kind: 'EventList', apiVersion: 'v1', metadata: {}, items: sources.events() }),
  );
  app.get('/api/problems', (context) => context.json(sources.problems()));
  app.get('/api/eviction', async (context) => context.json(await sources.eviction()));
  app.get('/api/image-gc', async (context) => context.json(await sources.imageGc()));
  const onError = (): never => {
    throw new KubeletError('Invalid', 'the manifest is larger than 10 MB');
  };
  app.post('/api/plan', bodyLimit({ maxSize: PLAN_LIMIT_BYTES, onError }), async (context) =>
    context.json(await sources.plan(await context.req.text())),
  );
}

function addPodRoutes(app: Hono, sources: LocalApiSources): void {
  app.get('/containerLogs/:namespace/:pod/:container', (context) =>
    logResponse(context, sources, context.req.param(), parseLogQuery(new URL(context.req.url).searchParams)),
  );
  app.post('/api/exec/:namespace/:pod/:container?', async (context) => {
    const { namespace, pod, container } = context.req.param();
    const request = acceptExec(await context.req.json().catch(() => undefined));
    return context.json({ url: await sources.exec({ namespace, pod, container: container ?? '' }, request) });
  });
}

function acceptExec(value: unknown): ExecRequest {
  const request = value as Partial<ExecRequest> | null | undefined;
  const command = request?.command;
  if (!Array.isArray(command) || command.length === 0 || !command.every((word) => typeof word === 'string')) {
    throw new KubeletError('Invalid', 'exec needs a command: a list of at least one word');
  }
  return { command, tty: request?.tty === true, stdin: request?.stdin === true };
}

/**
 * Sends one JSON object per line: first every pod in its current state, then each change. For a slow client only the
 * newest change of each pod is kept, so that it costs no memory.
 */
function watchRoute(context: Context, sources: LocalApiSources): Response {
  context.header('Content-Type', 'application/x-ndjson');
  return streamBody(context, async (out) => {
    const pending = new Map<string, PodChange>();
    let wake: () => void = () => {};
    const add = (change: PodChange): void => {
      pending.set(change.pod.metadata.uid, change);
      wake();
    };
    for (const pod of sources.pods()) add({ type: 'MODIFIED', pod });
    const stop = sources.watch(add);
    out.onAbort(() => {
      stop();
      wake();
    });
    while (!out.aborted) {
      const lines = [...pending.values()].map((change) => `${JSON.stringify(change)}\n`);
      pending.clear();
      if (lines.length > 0) await out.write(lines.join(''));
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  });
}
