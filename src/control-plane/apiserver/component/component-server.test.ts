import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { AuthorizationAttributes } from '../../model/user-info.ts';
import { bodyText, fakeRequest } from '../testing/fake-request.ts';
import { tokenIsName } from '../testing/fixtures.ts';
import { componentHandler } from './component-server.ts';
import { SchedulingFigures } from './scheduling-metrics.ts';

/** Starts a server. Prometheus may read metrics, and tokens are names of users. */
function start(openPaths: readonly string[] = ['/healthz', '/livez*']) {
  const asked: AuthorizationAttributes[] = [];
  const registry = new Registry();
  const figures = new SchedulingFigures(registry);
  const handle = componentHandler(
    {
      checks: [{ name: 'lease', endpoints: ['readyz'], check: () => Promise.reject(new Error('not ours')) }],
      metrics: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
      configuration: () => ({ componentconfig: { Parallelism: 16 } }),
    },
    {
      authenticators: [tokenIsName],
      authorizer: {
        name: 'fake',
        authorize: (attributes) => {
          asked.push(attributes);
          if (attributes.user.name === 'faulty') throw new Error('no answer');
          const isAllowed = attributes.user.name === 'prometheus' && attributes.path !== '/configz';
          return { decision: isAllowed ? 'allow' : 'noOpinion', reason: '' };
        },
      },
      openPaths,
    },
    recordingLog(),
  );
  const get = async (path: string, user?: string, method = 'GET'): Promise<[number, string]> => {
    const headers = user === undefined ? {} : { authorization: `Bearer ${user}` };
    const reply = await handle(fakeRequest(method, path, { headers }));
    return [reply.status, bodyText(reply)];
  };
  return { get, asked, figures };
}

test('open paths require no authentication and no authorization', async () => {
  const { get, asked } = start();
  assert.deepEqual(await get('/healthz'), [200, 'ok']);
  assert.deepEqual(await get('/livez/ping'), [200, 'ok']);
  assert.deepEqual(asked, []);
});

test('invalid credentials are rejected on open paths too', async () => {
  const { get } = start();
  assert.deepEqual(await get('/healthz', 'wrong'), [401, 'Unauthorized\n']);
});

test('other paths require permission to read them', async () => {
  const { get, asked, figures } = start();
  figures.attempted({ profile: 'default-scheduler', result: 'scheduled', durationMs: 3 });
  figures.countWith(() => ({ active: 2 }));
  const [status, metrics] = await get('/metrics', 'prometheus');
  assert.equal(status, 200);
  assert.match(metrics, /scheduler_schedule_attempts_total\{profile="default-scheduler",result="scheduled"\} 1/);
  assert.match(metrics, /scheduler_pending_pods\{queue="active"\} 2/);
  assert.deepEqual(await get('/configz', 'prometheus'), [
    403,
    'forbidden: User "prometheus" cannot get path "/configz"\n',
  ]);
  assert.deepEqual(await get('/metrics'), [403, 'forbidden: User "system:anonymous" cannot get path "/metrics"\n']);
  assert.deepEqual(
    asked.map(({ verb, path, resourceRequest }) => [verb, path, resourceRequest]),
    [
      ['get', '/metrics', false],
      ['get', '/configz', false],
      ['get', '/metrics', false],
    ],
  );
});

test('a differently escaped open path is not open', async () => {
  const { get } = start();
  for (const path of ['/health%7a', '//healthz', '/healthz/../metrics', '/metrics?x=/healthz', '/healthz/'])
    assert.equal((await get(path))[0], 403, path);
});

test('a failed check is reported by its endpoint', async () => {
  const { get } = start(['/healthz', '/readyz']);
  const [status, text] = await get('/readyz');
  assert.deepEqual([status, text.includes('[-]lease failed: reason withheld')], [500, true]);
  assert.equal((await get('/healthz'))[0], 200);
});

test('nothing is served without an authorization decision, and only reads are served', async () => {
  const { get } = start();
  assert.deepEqual(await get('/metrics', 'faulty'), [
    403,
    'forbidden: User "faulty" cannot get path "/metrics": no answer\n',
  ]);
  assert.equal((await get('/metrics', 'prometheus', 'POST'))[0], 405);
  assert.equal((await get('/nothing', 'prometheus'))[0], 404);
});
