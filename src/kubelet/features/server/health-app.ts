import { Hono } from 'hono';

/** A named check. It returns the problem, or undefined if there is none. */
export type HealthCheck = () => string | undefined;

/**
 * Adds `/healthz` and its parts, in the API machinery's text format (upstream: apiserver healthz). The whole hides the
 * reasons of failures. A part shows its own, as in upstream; it needs no other right.
 */
export function addHealthRoutes(app: Hono, checks: Readonly<Record<string, HealthCheck>>): void {
  const noSniff = { 'X-Content-Type-Options': 'nosniff' };
  app.get('/healthz', (context) => {
    const excluded = new Set(context.req.queries('exclude') ?? []);
    const lines: string[] = [];
    let isFailed = false;
    for (const [name, check] of Object.entries(checks)) {
      const problem = excluded.has(name) ? undefined : check();
      isFailed ||= problem !== undefined;
      lines.push(
        excluded.has(name)
          ? `[+]${name} excluded: ok`
          : problem === undefined
            ? `[+]${name} ok`
            : `[-]${name} failed: reason withheld`,
      );
      excluded.delete(name);
    }
    if (excluded.size > 0)
      lines.push(
        `warn: some health checks cannot be excluded: no matches for ${[...excluded].map((name) => JSON.stringify(name)).join(', ')}`,
      );
    if (!isFailed && context.req.query('verbose') === undefined) return context.text('ok', 200, noSniff);
    return context.text(
      `${[...lines, isFailed ? 'healthz check failed' : 'healthz check passed'].join('\n')}\n`,
      isFailed ? 500 : 200,
      noSniff,
    );
  });
  for (const [name, check] of Object.entries(checks)) {
    app.get(`/healthz/${name}`, (context) => {
      const problem = check();
      return problem === undefined ? context.text('ok') : context.text(`internal server error: ${problem}\n`, 500);
    });
  }
}

/**
 * Creates the server on port 10248: only health, for any client (CVE-2019-11248: it has no debugging endpoints). It
 * shows whether the process is alive (upstream installs no checks there). The secure port shows the detailed health,
 * which is also reported to systemd.
 */
export function createHealthApp(checks: Readonly<Record<string, HealthCheck>>): Hono {
  const app = new Hono();
  addHealthRoutes(app, checks);
  return app;
}
