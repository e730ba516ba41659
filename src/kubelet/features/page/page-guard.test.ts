import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LoginAttempts } from './login-attempts.ts';
import { PageGuard } from './page-guard.ts';
import type { GuardVerdict, ListenedRequest, RequestGuard } from '../../ports/request-guard.ts';
import { PageSessions, SESSION_MS } from './page-sessions.ts';

const TOKEN = 'the-token-of-the-page';
const alice = { name: 'alice', groups: [] };
const refused = (status: 401 | 403): GuardVerdict => ({ outcome: 'refused', status, body: '' });

/** A guard that knows the token `alice`, whose owner may get the paths in `may`. */
function serverGuard(may: readonly string[]): RequestGuard & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    check: async ({ authorization, path, method }) => {
      asked.push(`${method} ${path}`);
      if (authorization !== 'Bearer alice') return refused(401);
      return may.includes(path) ? { outcome: 'allowed', user: alice } : refused(403);
    },
  };
}

function fixture(
  may: readonly string[] = ['/stats/summary', '/pods', '/logs/pods'],
  token: string | undefined = TOKEN,
) {
  let nowMs = 0;
  const sessions = new PageSessions(() => nowMs);
  const server = serverGuard(may);
  const guard = new PageGuard({ guard: server, token, sessions, attempts: new LoginAttempts(() => nowMs) });
  const check = (path: string, over: Partial<ListenedRequest> = {}): Promise<GuardVerdict> =>
    guard.check({
      method: 'GET',
      path,
      isUpgrade: false,
      clientCertificate: undefined,
      authorization: undefined,
      cookie: undefined,
      remoteAddress: '10.0.0.1',
      ...over,
    });
  const status = async (path: string, over: Partial<ListenedRequest> = {}): Promise<number> => {
    const verdict = await check(path, over);
    return verdict.outcome === 'allowed' ? 200 : verdict.status;
  };
  return { guard, sessions, server, status, pass: (ms: number) => (nowMs += ms) };
}

const cookieOf = (header: string): string => header.split(';')[0] ?? '';

describe('the guard of the page', () => {
  it('lets anyone have the page without data, and nothing below /api/', async () => {
    const { status } = fixture();
    assert.deepEqual(
      await Promise.all(['/', '/login', '/assets/page.js', '/api/events', '/api/'].map((path) => status(path))),
      [200, 200, 200, 401, 401],
    );
  });

  it('needs the rights to the same data on the server', async () => {
    const all = fixture();
    assert.equal(await all.status('/api/events', { authorization: 'Bearer alice' }), 200);
    assert.deepEqual(all.server.asked, ['GET /stats/summary', 'GET /pods']);
    const statsOnly = fixture(['/stats/summary']);
    assert.equal(await statsOnly.status('/api/events', { authorization: 'Bearer alice' }), 403);
    const noLogs = fixture(['/stats/summary', '/pods']);
    assert.equal(await noLogs.status('/api/logs/a/b/c', { authorization: 'Bearer alice' }), 403);
    assert.equal(await noLogs.status('/api/pods/x', { authorization: 'Bearer alice' }), 200);
  });

  it('takes the token of the page, or one that the server accepts, and nothing that would be another header', async () => {
    const { guard } = fixture();
    assert.deepEqual(await guard.judgeToken(TOKEN), { kind: 'page' });
    assert.deepEqual(await guard.judgeToken('alice'), { kind: 'bearer', authorization: 'Bearer alice' });
    for (const wrong of ['', 'bob', 'alice\r\nX-Remote-User: root', `${TOKEN} `, TOKEN.slice(1)])
      assert.equal(await guard.judgeToken(wrong), undefined, JSON.stringify(wrong));
  });

  it('accepts no empty token where the page has none', async () => {
    const { guard } = fixture([], undefined);
    assert.equal(await guard.judgeToken(''), undefined);
  });

  it('checks the token of a session again with every request', async () => {
    const may = ['/stats/summary', '/pods'];
    const { sessions, status } = fixture(may);
    const cookie = cookieOf(sessions.open({ kind: 'bearer', authorization: 'Bearer alice' }));
    assert.equal(await status('/api/events', { cookie }), 200);
    may.pop();
    assert.equal(await status('/api/events', { cookie }), 403);
  });

  it('ends a session with the logout, and after twelve hours', async () => {
    const { sessions, status, pass } = fixture();
    const [one, other] = [cookieOf(sessions.open({ kind: 'page' })), cookieOf(sessions.open({ kind: 'page' }))];
    assert.equal(await status('/api/events', { cookie: `theme=dark; ${one}` }), 200);
    sessions.close(one);
    assert.equal(await status('/api/events', { cookie: one }), 401);
    assert.equal(await status('/api/events', { cookie: other }), 200);
    pass(SESSION_MS);
    assert.equal(await status('/api/events', { cookie: other }), 401);
  });

  it('keeps at most 64 sessions, the newest', async () => {
    const { sessions, status } = fixture();
    const cookies = Array.from({ length: 65 }, () => cookieOf(sessions.open({ kind: 'page' })));
    assert.equal(await status('/api/events', { cookie: cookies[0] }), 401);
    assert.equal(await status('/api/events', { cookie: cookies[1] }), 200);
  });

  it('bounds the attempts to log in by address', async () => {
    const { status, pass } = fixture();
    const attempt = (remoteAddress: string): Promise<number> => status('/login', { method: 'POST', remoteAddress });
    const statuses = [];
    for (let index = 0; index < 12; index++) statuses.push(await attempt('10.0.0.1'));
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429, 429]);
    assert.equal(await attempt('10.0.0.2'), 200);
    pass(6000);
    assert.deepEqual([await attempt('10.0.0.1'), await attempt('10.0.0.1')], [200, 429]);
  });

  it('refuses upgrades, and cookies that are too long to search', async () => {
    const { sessions, status } = fixture();
    const cookie = cookieOf(sessions.open({ kind: 'page' }));
    assert.equal(await status('/', { isUpgrade: true }), 401);
    assert.equal(await status('/api/events', { cookie: `${'x'.repeat(20_000)}; ${cookie}` }), 401);
  });
});
