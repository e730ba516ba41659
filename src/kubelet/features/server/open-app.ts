import { Hono } from 'hono';
import { errorMessage } from '../../../base/errors.ts';
import { addHealthRoutes, type HealthCheck } from './health-app.ts';
import { podList, type PodViews } from './pod-routes.ts';
import { addScrapeRoutes, type ScrapeEndpoints } from './scrape-routes.ts';

export interface OpenSources extends Pick<PodViews, 'pods'> {
  checks: Readonly<Record<string, HealthCheck>>;
  /** Statistics and metrics; none where nothing is measured. */
  scrape?: ScrapeEndpoints;
}

/** Upstream: InstallDebuggingDisabledHandlers. */
const DISABLED = ['run', 'exec', 'attach', 'portForward', 'containerLogs', 'runningpods', 'debug/pprof', 'logs'];

/** What the servers on 10250 and 10255 both have (upstream: InstallAuthNotRequiredHandlers). */
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
  for (const path of DISABLED) app.all(`/${path}/*`, (context) => context.text('Debug endpoints are disabled.\n', 405));
}

/** To be called last: a path that is there, asked in a way that is not, is 405 with what is, as upstream's router answers. */
export function refuseOtherMethods(app: Hono): void {
  const methods = new Map<string, Set<string>>();
  for (const { path, method } of app.routes) methods.set(path, (methods.get(path) ?? new Set()).add(method));
  for (const [path, known] of methods)
    if (!known.has('ALL'))
      app.all(path, (context) => context.text('405: Method Not Allowed', 405, { Allow: [...known].join(', ') }));
}
