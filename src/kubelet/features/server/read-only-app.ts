import { Hono } from 'hono';
import type { Pod } from '../../../api/core/pod.ts';
import { addHealthRoutes, type HealthCheck } from './health-app.ts';
import { addScrapeRoutes, type ScrapeEndpoints } from './scrape-routes.ts';

/** Paths that exist on the secure server only; upstream answers 405 for them here. */
const SECURE_ONLY = ['run', 'exec', 'attach', 'portForward', 'containerLogs', 'runningpods', 'debug/pprof', 'logs'];

/** The server on readOnlyPort (10255), off unless asked for: plain HTTP, for anybody who reaches it, so no more than upstream shows there. */
export function createReadOnlyApp(sources: { pods: () => Pod[]; checks: Readonly<Record<string, HealthCheck>>; scrape?: ScrapeEndpoints }): Hono {
  const app = new Hono();
  addHealthRoutes(app, sources.checks);
  app.get('/pods', (context) => context.json({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: sources.pods() }));
  addScrapeRoutes(app, sources.scrape ?? new Map());
  for (const path of SECURE_ONLY) app.all(`/${path}/*`, (context) => context.text('Debug endpoints are disabled.\n', 405));
  return app;
}
