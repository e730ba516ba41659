import type { Context } from 'hono';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { errorKind, errorMessage } from '../../../base/errors.ts';
import type { PodExplanation } from '../../../api/explanation/explanation.ts';
import type { PageAssets } from './page-assets.ts';
import type { PageFeed } from './page-feed.ts';
import type { PageGuard } from './page-guard.ts';
import { pageHeaders } from './page-headers.ts';
import type { PageSessions } from './page-sessions.ts';
import { LogStreams } from './log-streams.ts';
import type { ReadLog } from './log-streams.ts';
import { eventStream } from './event-stream.ts';
import type { Clock } from '../../../base/clock.ts';

export interface PageAppParts {
  readonly assets: PageAssets;
  readonly feed: PageFeed;
  readonly guard: PageGuard;
  readonly sessions: PageSessions;
  /** Returns the explanation; undefined for an unknown pod. */
  readonly explain: (uid: string) => PodExplanation | undefined;
  readonly evictionReport: () => Promise<unknown>;
  readonly readLog: ReadLog;
  readonly clock: Clock;
}

/** The size limit of a login. Tokens of service accounts have about 1 KiB. */
const LOGIN_LIMIT_BYTES = 16_384;
const NO_STORE = 'no-store';
const PROBLEM_MARK = '<!-- problem -->';

/**
 * Creates the app with the page, its files, its login and its data. The guard has already decided about each request.
 */
export function createPageApp(parts: PageAppParts): Hono {
  const app = new Hono();
  app.use('*', async (context, next) => {
    await next();
    for (const [name, value] of pageHeaders) context.res.headers.set(name, value);
  });
  app.notFound((context) => context.text('404 page not found\n', 404));
  app.onError((error, context) => context.text(`${errorMessage(error)}\n`, statusOf(error)));
  addFiles(app, parts);
  addLogin(app, parts);
  addData(app, parts);
  return app;
}

const statusOf = (error: unknown): 400 | 404 | 500 | 503 => {
  const kind = errorKind(error);
  if (kind === 'NotFound') return 404;
  if (kind === 'Unavailable') return 503;
  return kind === 'Invalid' ? 400 : 500;
};

function addFiles(app: Hono, { assets }: PageAppParts): void {
  app.get('/', (context) => fileAnswer(context, assets, 'page.html'));
  app.get('/assets/:name', (context) => fileAnswer(context, assets, context.req.param('name')));
}

async function fileAnswer(context: Context, assets: PageAssets, name: string): Promise<Response> {
  const asset = await assets.get(name);
  if (asset === undefined) return context.notFound();
  const { bytes, type, tag } = asset;
  const headers = { 'Cache-Control': 'no-cache', ETag: tag };
  if (context.req.header('if-none-match') === tag) return context.body(null, 304, headers);
  return context.body(bytes, 200, { ...headers, 'Content-Type': type });
}

function addLogin(app: Hono, parts: PageAppParts): void {
  const { sessions, guard } = parts;
  app.get('/login', (context) => loginPage(context, parts, 200, ''));
  const onError = (context: Context): Promise<Response> => loginPage(context, parts, 413, 'The token is too long.');
  app.post('/login', refuseCrossSite, bodyLimit({ maxSize: LOGIN_LIMIT_BYTES, onError }), async (context) => {
    const token = new URLSearchParams(await context.req.text()).get('token')?.trim() ?? '';
    const credential = token === '' ? undefined : await guard.judgeToken(token);
    if (credential === undefined) return loginPage(context, parts, 401, 'This token is not accepted.');
    context.header('Set-Cookie', sessions.open(credential));
    context.header('Cache-Control', NO_STORE);
    return context.redirect('/', 303);
  });
  app.post('/logout', refuseCrossSite, (context) => {
    context.header('Set-Cookie', sessions.close(context.req.header('cookie')));
    context.header('Cache-Control', NO_STORE);
    return context.redirect('/login', 303);
  });
}

/**
 * Refuses a request from another site, which must not log a browser in or out. Clients other than browsers do not send
 * the header.
 */
async function refuseCrossSite(context: Context, next: () => Promise<void>): Promise<Response | void> {
  const site = context.req.header('sec-fetch-site') ?? 'same-origin';
  if (site !== 'same-origin' && site !== 'none') return context.text('Forbidden\n', 403);
  return next();
}

/** Builds the login page. `problem` is a text of this file and contains no markup. */
async function loginPage(
  context: Context,
  { assets }: PageAppParts,
  status: 200 | 401 | 413,
  problem: string,
): Promise<Response> {
  const asset = await assets.get('login.html');
  const html = new TextDecoder().decode(asset?.bytes);
  const shown = problem === '' ? '' : `<p id="problem" class="problem" role="alert">${problem}</p>`;
  return context.body(html.replace(PROBLEM_MARK, shown), status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': NO_STORE,
  });
}

function addData(app: Hono, { feed, explain, evictionReport, readLog, clock }: PageAppParts): void {
  const eviction = shared(evictionReport, clock);
  const logs = new LogStreams(readLog, clock);
  app.use('/api/*', async (context, next) => {
    await next();
    context.res.headers.set('Cache-Control', NO_STORE);
  });
  // A page whose stream was refused requests this path to read the reason, because the guard answers first.
  app.get('/api/session', (context) => context.json({}));
  app.get('/api/events', (context) => eventStream(context, feed, clock));
  app.get('/api/pods/:uid', (context) => {
    const explanation = explain(context.req.param('uid'));
    return explanation === undefined ? context.notFound() : context.json(explanation);
  });
  app.get('/api/eviction', async (context) => context.json(await eviction()));
  app.get('/api/logs/:namespace/:pod/:container', (context) => logs.answer(context));
}

/** How long a report is reused, because its readings cost more than figures in memory. */
const REPORT_AGE_MS = 5000;

/** Shares one report between all requests within that time. */
function shared<Report>(read: () => Promise<Report>, clock: Clock): () => Promise<Report> {
  let reading: Promise<Report> | undefined;
  let atMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (reading === undefined || clock.monotonicMs() - atMs >= REPORT_AGE_MS) {
      atMs = clock.monotonicMs();
      reading = read();
    }
    return reading;
  };
}
