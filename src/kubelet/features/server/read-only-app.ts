import type { Hono } from 'hono';
import type { OpenSources } from './open-app.ts';
import { addDisabledRoutes, createOpenApp, refuseOtherMethods } from './open-app.ts';

/**
 * Creates the server on readOnlyPort (10255), which is off by default. It is plain HTTP without authentication, so it
 * serves no more than upstream does.
 */
export function createReadOnlyApp(sources: OpenSources): Hono {
  const app = createOpenApp(sources);
  addDisabledRoutes(app);
  refuseOtherMethods(app);
  return app;
}
