import assert from 'node:assert/strict';
import { request as httpsRequest } from 'node:https';
import { after, before, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { clusterRoleBindings, clusterRoles } from '../../../api/client/resource-types.ts';
import { createRbacAuthorizer } from '../../authz/rbac/rbac-authorizer.ts';
import { parseRule } from '../../authz/rbac/policy-rules.ts';
import { RoleGrants } from '../../authz/rbac/role-grants.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import { FakeKubelet } from '../../apiserver/testing/fake-kubelet.ts';
import { fakeRequest } from '../../apiserver/testing/fake-request.ts';
import { fixture } from '../../apiserver/testing/fixtures.ts';
import type { Fixture } from '../../apiserver/testing/fixtures.ts';
import { makeTestCertificates } from '../../apiserver/testing/test-certificates.ts';

const verbs = new Map([
  ['getter', 'get'],
  ['creator', 'create'],
  ['writer', 'get,update,patch,delete'],
  ['both', 'get,create'],
  ['admin', '*'],
]);
const apiGroup = 'rbac.authorization.k8s.io';

/** Each user has the verbs of their name on nodes' proxies and on what connects to pods, and nothing else. */
function rbac(): ReturnType<typeof createRbacAuthorizer> {
  const reader = new FakeObjectReader();
  for (const [name, allowed] of verbs) {
    reader.put(clusterRoles, {
      metadata: { name, namespace: '', uid: name },
      rules: [
        parseRule(name === 'admin' ? '* * *' : `${allowed} core nodes/proxy,pods/exec,pods/attach,pods/portforward`),
      ],
    });
    reader.put(clusterRoleBindings, {
      metadata: { name, namespace: '', uid: name },
      roleRef: { apiGroup, kind: 'ClusterRole', name },
      subjects: [{ kind: 'User', apiGroup, name }],
    });
  }
  return createRbacAuthorizer(new RoleGrants(reader));
}

const command = '/default/p/c?command=id&output=1';
const upgrades: readonly Readonly<Record<string, string>>[] = [
  {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  },
  { connection: 'keep-alive, upgrade', upgrade: 'SPDY/3.1' },
  { connection: 'UPGRADE', upgrade: 'WebSocket' },
];
const ways = [
  '/exec',
  '/attach',
  '/run',
  '/portForward',
  '/portforward',
  '/EXEC',
  '/Attach',
  '/%65xec',
  '/e%78ec',
  '/%45XEC',
  '/%2565xec',
  '//exec',
  '///exec',
  '/./exec',
  '/.//exec',
  '/x/../exec',
  '/x/%2e%2e/exec',
  '/%2fexec',
  '/%2Fexec',
  '/%5cexec',
  '/..%2fexec',
  '/logs/../exec',
  '/pods/..%2f..%2fexec',
  '/exec/.',
  '/exec//',
  '/exec;a=b',
  '/exec%2f',
  '/cri/exec',
];

describe('the proxy of a node', () => {
  const kubelet = new FakeKubelet();
  let each: Fixture;
  let port = 0;
  before(async () => {
    await kubelet.listen();
    each = fixture({
      clock: systemClock,
      authorizer: rbac(),
      kubelets: { dialer: kubelet.dialer, preferredAddressTypes: ['InternalIP'] },
    });
    const make = (path: string, body: object): Promise<unknown> =>
      each.server.handle(fakeRequest('POST', path, { body, headers: { authorization: 'Bearer admin' } }));
    await make('/api/v1/nodes', {
      metadata: { name: 'n' },
      status: {
        addresses: [{ type: 'InternalIP', address: '10.1.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
      },
    });
    await make('/api/v1/namespaces/default/pods', {
      metadata: { name: 'p' },
      spec: { nodeName: 'n', containers: [{ name: 'c' }] },
    });
    const { key, cert } = makeTestCertificates();
    ({ port } = await each.server.listen({ host: '127.0.0.1', port: 0, tls: { key, cert } }));
  });
  after(async () => {
    await each.server.stop();
    await kubelet.close();
  });
  beforeEach(() => {
    kubelet.dialed.length = 0;
    kubelet.upgrade = (request, socket) =>
      socket.end(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
      );
  });

  function ask(
    user: string,
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      const request = httpsRequest({
        port,
        host: '127.0.0.1',
        rejectUnauthorized: false,
        agent: false,
        method,
        path,
        headers: { ...headers, authorization: `Bearer ${user}` },
      });
      request.on('response', (response) => {
        response.resume();
        response.on('close', () => resolve(response.statusCode ?? 0));
      });
      request.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve(response.statusCode ?? 0);
      });
      request.on('error', reject);
      request.end();
    });
  }

  it('upgrades nothing for who may only get, however the path is written (kubernetes 136550)', async () => {
    const reached: string[] = [];
    for (const name of ['n', 'n:10250', 'https:n:10250', 'n:9100']) {
      for (const [at, way] of ways.entries()) {
        const path = `/api/v1/nodes/${name}/proxy${way}${command}`;
        const status = await ask('getter', 'GET', path, upgrades[at % upgrades.length]);
        if (status !== 403) reached.push(`${path} ${status}`);
      }
    }
    assert.deepEqual([reached, kubelet.dialed], [[], []]);
  });

  it('upgrades for who may create: by POST alone, by GET with the right to get besides', async () => {
    for (const headers of upgrades) {
      const path = `/api/v1/nodes/n/proxy/exec${command}`;
      const statuses = [
        await ask('creator', 'POST', path, headers),
        await ask('creator', 'GET', path, headers),
        await ask('both', 'GET', path, headers),
        await ask('both', 'POST', path, headers),
        await ask('getter', 'POST', path, headers),
        await ask('writer', 'PUT', path, headers),
        await ask('writer', 'GET', '/api/v1/nodes/n/proxy', headers),
      ];
      assert.deepEqual(statuses, [101, 403, 101, 101, 403, 403, 403], headers['upgrade'] ?? '');
    }
    assert.equal(kubelet.dialed.length, 3 * upgrades.length);
  });

  it('asks for it without an upgrade, too, where a command or a port is meant, by each method', async () => {
    const seen = new Map<string, number>();
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])
      for (const way of ['/exec', '/run', '/RUN', '/%72un', '//run', '/./attach', '/x/..%2fportForward'])
        seen.set(`${method} ${way}`, await ask('writer', method, `/api/v1/nodes/n/proxy${way}${command}`));
    assert.deepEqual([[...seen].filter(([, status]) => status !== 403), kubelet.dialed], [[], []]);
    const others = ['/healthz', '/logs/run/x', '/logs//x', '/runningpods/', '/executions', '/metrics?x=/exec'];
    for (const way of others) assert.equal(await ask('getter', 'GET', `/api/v1/nodes/n/proxy${way}`), 200, way);
    assert.deepEqual(
      [
        await ask('creator', 'POST', `/api/v1/nodes/n/proxy/run${command}`),
        await ask('getter', 'POST', '/api/v1/nodes/n/proxy/healthz'),
      ],
      [200, 403],
    );
  });

  it('stands for no more than exec, attach and portforward of a pod do', async () => {
    for (const kind of ['exec', 'attach', 'portforward']) {
      for (const headers of upgrades) {
        const path = `/api/v1/namespaces/default/pods/p/${kind}?command=id&stdout=1&ports=80`;
        assert.deepEqual(
          [
            await ask('getter', 'GET', path, headers),
            await ask('writer', 'GET', path, headers),
            await ask('creator', 'GET', path, headers),
          ],
          [403, 403, 403],
          kind,
        );
      }
      assert.deepEqual(
        [
          await ask('both', 'GET', `/api/v1/namespaces/default/pods/p/${kind}?command=id&stdout=1`, upgrades[1]),
          await ask('creator', 'POST', `/api/v1/namespaces/default/pods/p/${kind}?command=id&stdout=1`, upgrades[1]),
        ],
        [101, 101],
        kind,
      );
    }
  });
});
