import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Authenticator } from '../../model/user-info.ts';
import { KubeletError } from '../../../base/errors.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { AuthorizationAttributes } from '../../model/user-info.ts';
import { bodyJson, bodyText, fakeRequest, headerOfReply } from '../testing/fake-request.ts';
import { fixture } from '../testing/fixtures.ts';

const pods = '/api/v1/namespaces/default/pods';
const message = (body: Record<string, unknown>): unknown => body.message;

describe('the request path', () => {
  it('gives every response an audit ID, the client’s own if it sent one', async () => {
    const { server } = fixture();
    const given = await server.handle(fakeRequest('GET', pods, { headers: { 'audit-id': 'from-a-proxy' } }));
    const made = await server.handle(fakeRequest('GET', pods));
    const forged = await server.handle(fakeRequest('GET', pods, { headers: { 'audit-id': 'x\r\nset-cookie: a' } }));
    assert.equal(headerOfReply(given, 'audit-id'), 'from-a-proxy');
    assert.match(String(headerOfReply(made, 'audit-id')), /^[0-9a-f]{8}-/);
    assert.match(String(headerOfReply(forged, 'audit-id')), /^[0-9a-f]{8}-/);
  });

  it('treats requests without credentials as anonymous, and rejects invalid ones', async () => {
    const { server } = fixture();
    const wrong = await server.handle(fakeRequest('GET', pods, { headers: { authorization: 'Bearer wrong' } }));
    assert.deepEqual(
      [(await server.handle(fakeRequest('GET', pods))).status, wrong.status, message(bodyJson(wrong))],
      [200, 401, 'Unauthorized'],
    );
  });

  it('refuses a path whose parts can be read in two ways, but forwards such parts to a proxied server', async () => {
    const { server } = fixture();
    for (const part of ['', '.', '..', '%2e%2e', 'a%2fb', 'a%00b', 'a%0ab']) {
      for (const path of [`/api/v1/namespaces/${part}/pods`, `${pods}/${part}/log`, `/apis/${part}/v1/deployments`]) {
        const reply = await server.handle(fakeRequest('GET', path));
        assert.deepEqual([reply.status, bodyJson(reply).reason], [400, 'BadRequest'], path);
        assert.match(String(message(bodyJson(reply))), /the path can be read in two ways/);
      }
    }
    // The name ends where the forwarded path begins.
    const forwarded = await server.handle(fakeRequest('GET', `${pods}/web/proxy/a//..%2fb`));
    assert.notEqual(forwarded.status, 400);
  });

  it('rejects requests without credentials when anonymous access is off', async () => {
    assert.equal((await fixture({ anonymousAuth: false }).server.handle(fakeRequest('GET', pods))).status, 401);
  });

  it('admits requests without credentials on the configured paths, which match exactly', async () => {
    const { server } = fixture({ anonymousAuth: new Set(['/livez', '/version']) });
    const statusOf = async (path: string): Promise<number> => (await server.handle(fakeRequest('GET', path))).status;
    assert.deepEqual(
      [await statusOf('/livez'), await statusOf('/livez?verbose'), await statusOf('/version')],
      [200, 200, 200],
    );
    for (const path of [pods, '/livez/', '/livez/ping', '/%6civez', '/readyz'])
      assert.equal(await statusOf(path), 401, path);
  });

  it('does not pass an unverified client certificate to authenticators, and treats it as invalid credentials', async () => {
    const seen: unknown[] = [];
    const authenticators: Authenticator[] = [
      {
        name: 'x',
        authenticate: ({ readHeaders, ...request }) => {
          seen.push({ ...request, ...(readHeaders !== undefined && { headers: [...readHeaders()] }) });
          return Promise.resolve({ outcome: 'none' });
        },
      },
    ];
    const { server } = fixture({ authenticators });
    const der = new Uint8Array([1]);
    const statuses = [];
    for (const verified of [false, true])
      statuses.push((await server.handle(fakeRequest('GET', pods, { clientCertificate: { der, verified } }))).status);
    assert.deepEqual(
      [statuses, seen],
      [
        [401, 200],
        [{}, { clientCertificate: { der }, headers: [] }],
      ],
    );
  });

  it('rejects with upstream’s messages', async () => {
    const { server } = fixture();
    const as = { headers: { authorization: 'Bearer nobody' } };
    const said = async (method: string, target: string): Promise<unknown> =>
      message(bodyJson(await server.handle(fakeRequest(method, target, as))));
    assert.deepEqual(
      [
        await said('GET', pods),
        await said('DELETE', '/api/v1/nodes/n'),
        await said('PATCH', '/apis/apps/v1/namespaces/a/deployments/d/scale'),
        await said('GET', '/metrics'),
      ],
      [
        'pods is forbidden: User "nobody" cannot list resource "pods" in API group "" in the namespace "default"',
        'nodes "n" is forbidden: User "nobody" cannot delete resource "nodes" in API group "" at the cluster scope',
        'deployments.apps "d" is forbidden: User "nobody" cannot patch resource "deployments/scale" in API group "apps" in the namespace "a"',
        'forbidden: User "nobody" cannot get path "/metrics"',
      ],
    );
  });

  it('adds the authorizer’s reason and errors to the message', async () => {
    const authorizer = {
      name: 'deny',
      authorize: () => ({ decision: 'deny', reason: 'no way', evaluationError: 'no answer' }) as const,
    };
    const reply = await fixture({ authorizer }).server.handle(fakeRequest('GET', '/api/v1/nodes'));
    assert.match(String(message(bodyJson(reply))), /at the cluster scope: no way\nno answer$/);
  });

  it('impersonates only with permission for each part', async () => {
    const asked: string[] = [];
    const authorizer = {
      name: 'a',
      authorize: ({ user, verb, resource, subresource, namespace, name }: AuthorizationAttributes) => {
        asked.push(`${user.name}[${user.groups.join(' ')}] ${verb} ${resource} ${subresource} ${namespace} ${name}`);
        return { decision: name === 'secret' ? 'noOpinion' : 'allow', reason: '' } as const;
      },
    };
    const { server } = fixture({ authorizer });
    const ask = async (headers: Record<string, string | string[]>): Promise<number> =>
      (
        await server.handle(
          fakeRequest('GET', '/api/v1/nodes', { headers: { authorization: 'Bearer root', ...headers } }),
        )
      ).status;
    const statuses = [
      await ask({
        'impersonate-user': 'jane',
        'impersonate-group': ['dev', 'ops'],
        'impersonate-uid': 'u1',
        'impersonate-extra-scopes': 'view',
      }),
      await ask({ 'impersonate-user': 'system:serviceaccount:ns:sa' }),
      await ask({ 'impersonate-user': 'jane', 'impersonate-group': 'secret' }),
      await ask({ 'impersonate-group': 'dev' }),
    ];
    assert.deepEqual(statuses, [200, 200, 403, 400]);
    const root = 'root[system:authenticated] impersonate';
    assert.deepEqual(asked, [
      `${root} users   jane`,
      `${root} groups   dev`,
      `${root} groups   ops`,
      `${root} userextras scopes  view`,
      `${root} uids   u1`,
      'jane[dev ops system:authenticated] list nodes   ',
      `${root} serviceaccounts  ns sa`,
      'system:serviceaccount:ns:sa[system:serviceaccounts system:serviceaccounts:ns system:authenticated] list nodes   ',
      `${root} users   jane`,
      `${root} groups   secret`,
    ]);
  });

  it('converts every error to a Status, and logs only internal errors', async () => {
    const log = recordingLog();
    const { server, registry } = fixture({ log });
    registry.failNext = new Error('boom');
    const fault = await server.handle(fakeRequest('GET', pods));
    registry.failNext = new ApiStatusError('Expired', 'too old');
    const refusal = await server.handle(fakeRequest('GET', pods));
    assert.deepEqual(
      [fault.status, message(bodyJson(fault)), refusal.status, log.lines.map((line) => line.level)],
      [500, 'Internal error occurred: boom', 410, ['error']],
    );
  });

  it('returns 504 when a request exceeds its time limit or the client’s timeout', async () => {
    const { server, registry, clock } = fixture();
    registry.list = () => new Promise(() => undefined);
    const requests = ['', '?timeout=2s', '?timeout=soon'].map((query) => fakeRequest('GET', `${pods}${query}`));
    const [server60, client2, wrong] = requests.map((request) => server.handle(request));
    await clock.advance(2000);
    assert.equal((await client2)?.status, 504);
    await clock.advance(58_000);
    const late = await server60;
    assert.ok(late !== undefined);
    assert.deepEqual(
      [message(bodyJson(late)), (await wrong)?.status],
      ['Timeout: request did not complete within the allotted timeout', 400],
    );
    for (const request of requests) request.finish();
    assert.equal(clock.armedTimers, 0);
  });

  it('sends each warning once, without line breaks', async () => {
    const { server } = fixture();
    const body = '{"metadata":{"name":"a"},"data":{"x":"1","x":"2","y\\"":"1","y\\"":"2"}}';
    const reply = await server.handle(fakeRequest('POST', '/api/v1/namespaces/default/configmaps', { body }));
    assert.deepEqual(headerOfReply(reply, 'warning'), [
      '299 - "duplicate field \\"data.x\\""',
      '299 - "duplicate field \\"data.y\\\\\\"\\""',
    ]);
  });

  it('responds to invalid escapes in paths with 400', async () => {
    assert.equal((await fixture().server.handle(fakeRequest('GET', '/api/v1/%zz'))).status, 400);
  });
});

describe('unknown paths', () => {
  it('get the error responses of upstream', async () => {
    const { server } = fixture();
    const answers = async (method: string, target: string): Promise<string> => {
      const reply = await server.handle(fakeRequest(method, target, { headers: { authorization: 'Bearer a' } }));
      const text = bodyText(reply);
      return `${reply.status} ${text.startsWith('{') ? String((JSON.parse(text) as { message: string }).message) : text.trim()}`;
    };
    const page = '404 404 page not found';
    const resource = '404 the server could not find the requested resource';
    const method = '405 the server does not allow this method on the requested resource';
    const cases: readonly (readonly [string, string, string])[] = [
      ['GET', '/nothing', page],
      ['GET', '/apis/none.io/v1/things', page],
      ['GET', '/apis/apps/v2/deployments', page],
      ['GET', '/healthz/none', page],
      ['GET', '/api/v1/foos', resource],
      ['GET', '/api/v1/pods/x', resource],
      ['GET', '/api/v1/namespaces/a/nodes', resource],
      ['GET', '/api/v1/namespaces/a/pods/x/none', resource],
      ['GET', '/api/v1/namespaces/a/pods/x/status/more', resource],
      ['POST', '/api/v1/pods', method],
      ['PUT', '/api/v1/namespaces/a/pods', method],
      ['POST', '/api/v1/namespaces/a/pods/x', method],
      ['DELETE', '/api/v1/namespaces/a/pods/x/status', method],
      ['HEAD', '/api/v1/nodes', method],
      ['GET', '/apis/authentication.k8s.io/v1/tokenreviews', method],
      ['DELETE', '/api/v1/namespaces', method],
      ['POST', '/api/v1/namespaces/a/pods/x/log', method],
      ['POST', '/version', method],
      ['POST', '/api/v1/watch/pods', method],
    ];
    for (const [verb, target, expected] of cases)
      assert.equal(await answers(verb, target), expected, `${verb} ${target}`);
  });

  it('returns 503 if the store is unavailable, 504 if it does not respond, and 500 for other errors', async () => {
    const { server, registry } = fixture();
    const answers: unknown[] = [];
    for (const error of [
      new KubeletError('Unavailable', 'the disk is full'),
      new KubeletError('Timeout', 'no answer within 10 s'),
      new KubeletError('Internal', 'damaged'),
      new TypeError('x is not a function'),
    ]) {
      registry.failNext = error;
      const { code, reason, message: text } = bodyJson(await server.handle(fakeRequest('GET', pods)));
      answers.push([code, reason, text]);
    }
    assert.deepEqual(answers, [
      [503, 'ServiceUnavailable', 'the disk is full'],
      [504, 'Timeout', 'Timeout: no answer within 10 s'],
      [500, 'InternalError', 'Internal error occurred: damaged'],
      [500, 'InternalError', 'Internal error occurred: x is not a function'],
    ]);
  });
});
