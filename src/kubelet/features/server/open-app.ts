import { Hono } from 'hono';
import { errorMessage } from '../../../base/errors.ts';
import type { HealthCheck } from './health-app.ts';
import { addHealthRoutes } from './health-app.ts';
import type { PodViews } from './pod-routes.ts';
import { podList } from './pod-routes.ts';
import type { ScrapeEndpoints } from './scrape-routes.ts';
import { addScrapeRoutes } from './scrape-routes.ts';

export interface OpenSources extends Pick<PodViews, 'pods'> {
  readonly checks: Readonly<Record<string, HealthCheck>>;
  /** Statistics and metrics; absent if nothing is measured. */
  readonly scrape?: ScrapeEndpoints;
}

/** The paths that are disabled without debugging handlers (upstream: InstallDebuggingDisabledHandlers). */
const disabled = ['run', 'exec', 'attach', 'portForward', 'containerLogs', 'runningpods', 'debug/pprof', 'logs'];

/** Creates the common part of the servers on 10250 and 10255 (upstream: InstallAuthNotRequiredHandlers). */
export function createOpenApp(sources: OpenSources): Hono {
  const app = new Hono();
  app.notFound((context) => context.text('404 page not found\n', 404));
  app.onError((error, context) => context.text(errorMessage(error), 500));
  addHealthRoutes(app, sources.checks);
  for (const path of ['/pods', '/pods/']) app.get(path, (context) => context.json(podList(sources.pods())));
  addScrapeRoutes(app, sources.scrape ?? new Map());
  return app;
}

export function addDisabledRoutes(app: Hono): void {
  for (const path of disabled) app.all(`/${path}/*`, (context) => context.text('Debug endpoints are disabled.\n', 405));
}

/**
 * Must be called last. It answers a known path with another method by 405 and the allowed methods, as upstream's router
 * does.
 */
export function refuseOtherMethods(app: Hono): void {
  const methods = new Map<string, Set<string>>();
  for (const { path, method } of app.routes) methods.set(path, (methods.get(path) ?? new Set()).add(method));
  for (const [path, known] of methods)
    if (!known.has('ALL'))
      app.all(path, (context) => context.text('405: Method Not Allowed', 405, { Allow: [...known].join(', ') }));
}
