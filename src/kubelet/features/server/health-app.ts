import { Hono } from 'hono';

/** A named check; undefined means that all is well, a string says what is not. */
export type HealthCheck = () => string | undefined;

/** `/healthz` and its parts, in the API machinery's text format (upstream: apiserver healthz). */
export function addHealthRoutes(app: Hono, checks: Readonly<Record<string, HealthCheck>>): void {
  app.get('/healthz', (context) => {
    const results = Object.entries(checks).map(([name, check]) => ({ name, problem: check() }));
    const failed = results.some((result) => result.problem !== undefined);
    if (!failed && context.req.query('verbose') === undefined) return context.text('ok');
    const lines = results.map(({ name, problem }) => (problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`));
    const verdict = failed ? 'healthz check failed' : 'healthz check passed';
    return context.text(`${[...lines, verdict].join('\n')}\n`, failed ? 500 : 200);
  });
  for (const [name, check] of Object.entries(checks)) {
    app.get(`/healthz/${name}`, (context) => {
      const problem = check();
      return problem === undefined ? context.text('ok') : context.text(`internal server error: ${problem}\n`, 500);
    });
  }
}

/** The server on port 10248: health and nothing else, whoever asks (CVE-2019-11248: no debugging surface here). */
export function createHealthApp(checks: Readonly<Record<string, HealthCheck>>): Hono {
  const app = new Hono();
  addHealthRoutes(app, checks);
  return app;
}
