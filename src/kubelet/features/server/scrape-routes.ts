import type { Context, Hono } from 'hono';

/** The parts of a scrape request on which responses depend. */
export interface ScrapeRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  /** The headers as sent; empty when missing. */
  readonly accept: string;
  readonly acceptEncoding: string;
}

export interface ScrapeAnswer {
  readonly status: 200 | 400 | 404 | 405 | 500 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

export type ScrapeHandler = (request: ScrapeRequest) => Promise<ScrapeAnswer>;

/**
 * The endpoints of statistics and metrics, by method and path (`GET /metrics/cadvisor`). Requests are authorized before
 * they are called.
 */
export type ScrapeEndpoints = ReadonlyMap<string, ScrapeHandler>;

export function addScrapeRoutes(app: Hono, endpoints: ScrapeEndpoints): void {
  for (const [endpoint, handler] of endpoints) {
    const [method = 'GET', path = '/'] = endpoint.split(' ');
    app.on(method, path, (context) => answer(context, handler));
  }
}

async function answer(context: Context, handler: ScrapeHandler): Promise<Response> {
  const { method, url } = context.req;
  const { status, headers, body } = await handler({
    method,
    query: new URL(url).searchParams,
    accept: context.req.header('accept') ?? '',
    acceptEncoding: context.req.header('accept-encoding') ?? '',
  });
  return context.body(body, status, { ...headers });
}
