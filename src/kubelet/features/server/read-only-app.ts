import type { Hono } from 'hono';
import { addDisabledRoutes, createOpenApp, refuseOtherMethods, type OpenSources } from './open-app.ts';

/** The server on readOnlyPort (10255), off unless asked for: plain HTTP, for anybody who reaches it, so no more than upstream shows there. */
export function createReadOnlyApp(sources: OpenSources): Hono {
  const app = createOpenApp(sources);
  addDisabledRoutes(app);
  refuseOtherMethods(app);
  return app;
}
