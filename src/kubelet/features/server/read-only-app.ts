import type { Hono } from 'hono';
import type { OpenSources } from './open-app.ts';
import { addDisabledRoutes, createOpenApp, refuseOtherMethods } from './open-app.ts';

/**
 * The server on readOnlyPort (10255), off by default: plain HTTP without authentication, so it serves no more than
 * upstream does.
 */
export function createReadOnlyApp(sources: OpenSources): Hono {
  const app = createOpenApp(sources);
  addDisabledRoutes(app);
  refuseOtherMethods(app);
  return app;
}
