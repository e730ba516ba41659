import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { createPage } from './create-page.ts';
import type { ReadLog } from './log-streams.ts';
import { pageHeaders } from './page-headers.ts';
import { ModelPage } from './testing/model-page.ts';

const TOKEN = 'the-token-of-the-page';
const LOGIN_HTML = '<main><!-- problem --></main>';

function fixture(readLog: ReadLog = async () => noLines()) {
  const clock = new FakeClock();
  const model = new ModelPage({ pods: 3, nowMs: () => clock.nowMs() });
  const read: string[] = [];
  let reports = 0;
  const sources = {
    ...model,
    evictionReport: () => {
      reports++;
      return model.evictionReport();
    },
  };
  const page = createPage({
    sources,
    readLog,
    readAsset: async (name) => {
      read.push(name);
      return new TextEncoder().encode(name === 'login.html' ? LOGIN_HTML : name);
    },
    guard: undefined,
    token: TOKEN,
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> =>
    page.app.fetch(new Request(`http://kubelet${path}`, init));
  const login = (token: string, headers: Record<string, string> = {}): Promise<Response> =>
    ask('/login', { method: 'POST', body: new URLSearchParams({ token }), headers });
  return { ask, login, read, clock, model, page, reports: () => reports };
}

async function* noLines(): AsyncGenerator<Uint8Array> {
  yield* [];
}

describe('the app of the page', () => {
  it('sends its headers with every response, errors included', async () => {
    const { ask } = fixture();
    for (const path of ['/', '/login', '/assets/page.js', '/assets/none', '/none', '/api/pods/none', '/api/eviction'])
      for (const [name, value] of pageHeaders)
        assert.equal((await ask(path)).headers.get(name), value, `${path} ${name}`);
  });

  it('reads a file once, and answers that it has not changed', async () => {
    const { ask, read } = fixture();
    const first = await ask('/assets/page.js');
    assert.equal(first.headers.get('content-type'), 'text/javascript; charset=utf-8');
    const again = await ask('/assets/page.js', { headers: { 'if-none-match': first.headers.get('etag') ?? '' } });
    assert.equal(again.status, 304);
    assert.deepEqual(read, ['page.js']);
  });

  it("the page's server has no file beside those of the page", async () => {
    const { ask, read } = fixture();
    for (const name of ['constructor', '__proto__', 'tsconfig.json', 'uPlot.esm.d.ts', '.'])
      assert.notEqual((await ask(`/assets/${name}`)).status, 200, name);
    assert.deepEqual(read, []);
  });

  it('reveals only that the token is wrong', async () => {
    const { login } = fixture();
    const answer = await login('<script>');
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get('set-cookie'), null);
    assert.match(await answer.text(), /role="alert">This token is not accepted\.</);
    assert.equal((await login('x'.repeat(20_000))).status, 413);
  });

  it("the page's server goes on to the page after the right token, unless another site sends it", async () => {
    const { login } = fixture();
    const answer = await login(TOKEN);
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, '/']);
    assert.match(answer.headers.get('set-cookie') ?? '', /HttpOnly; SameSite=Strict$/);
    assert.equal((await login(TOKEN, { 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.equal((await login(TOKEN, { 'sec-fetch-site': 'same-site' })).status, 403);
  });

  it("the page's server has the explanation of a pod it knows", async () => {
    const { ask, model } = fixture();
    const uid = model.pods()[0]?.metadata.uid ?? '';
    const explanation = (await (await ask(`/api/pods/${uid}`)).json()) as { uid: string; timeline: unknown[] };
    assert.deepEqual([explanation.uid, explanation.timeline.length], [uid, 23]);
    assert.equal((await ask('/api/pods/none')).status, 404);
  });

  it('makes one eviction report for all who ask within five seconds', async () => {
    const { ask, clock, reports } = fixture();
    await Promise.all([ask('/api/eviction'), ask('/api/eviction')]);
    await ask('/api/eviction');
    assert.equal(reports(), 1);
    await clock.advance(5000);
    await ask('/api/eviction');
    assert.equal(reports(), 2);
  });

  it('reads sixteen logs at a time, and another one when one has ended', async () => {
    const ends: (() => void)[] = [];
    const { ask } = fixture(async (_target, _request, signal) => {
      async function* lines(): AsyncGenerator<Uint8Array> {
        await new Promise<void>((resolve) => {
          ends.push(resolve);
          signal.addEventListener('abort', () => resolve());
        });
        yield new Uint8Array();
      }
      return lines();
    });
    const open = await Promise.all(Array.from({ length: 16 }, () => ask('/api/logs/a/b/c?follow=true')));
    assert.deepEqual(new Set(open.map(({ status }) => status)), new Set([200]));
    const full = await ask('/api/logs/a/b/c');
    assert.equal(full.status, 503);
    assert.match(await full.text(), /16 logs/);
    ends[0]?.();
    await open[0]?.text();
    assert.equal((await ask('/api/logs/a/b/c')).status, 200);
  });

  it('ends a log whose client has gone, after an hour, and at once for HEAD', async () => {
    let ended = 0;
    const { ask, clock } = fixture(async (_target, _request, signal) => {
      signal.addEventListener('abort', () => ended++);
      async function* lines(): AsyncGenerator<Uint8Array> {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        yield* [];
      }
      return lines();
    });
    const one = await ask('/api/logs/a/b/c');
    await one.body?.cancel();
    await clock.settle();
    assert.equal(ended, 1);
    await ask('/api/logs/a/b/c');
    await clock.advance(3_600_000);
    assert.equal(ended, 2);
    await ask('/api/logs/a/b/c', { method: 'HEAD' });
    await clock.settle();
    assert.equal(ended, 3);
  });

  it('says what is wrong with a log that cannot be read', async () => {
    const { ask } = fixture(async ({ pod }) => {
      throw new KubeletError(pod === 'none' ? 'NotFound' : 'Invalid', `pod "${pod}"`);
    });
    assert.equal((await ask('/api/logs/a/none/c')).status, 404);
    assert.equal((await ask('/api/logs/a/b/c')).status, 400);
    assert.equal((await ask('/api/logs/a/b/c?tailLines=9999999')).status, 400);
  });

  it('sends events, ends the stream after ten minutes, and measures nothing afterwards', async () => {
    const { ask, clock, page, model } = fixture();
    const answer = await ask('/api/events');
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    const first = await reader?.read();
    assert.match(first?.value ?? '', /^event: state\ndata: \{"node":.*\}\n\n$/);
    assert.deepEqual([page.feed.clients, model.listeners], [1, 1]);
    const rest = (async () => {
      while ((await reader?.read())?.done === false);
    })();
    await clock.advance(10 * 60_000);
    await rest;
    assert.deepEqual([page.feed.clients, model.listeners, clock.armedTimers], [0, 0, 0]);
  });

  it('measures nothing for HEAD', async () => {
    const { ask, page } = fixture();
    assert.equal((await ask('/api/events', { method: 'HEAD' })).status, 200);
    assert.equal(page.feed.clients, 0);
  });
});
