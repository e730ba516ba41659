// The server serves exactly what it has authorized, for all request lines, hosts and pseudo-headers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { systemClock } from '../../base/clock.ts';
import { oddRequests } from '../../base/testing/odd-requests.ts';
import type { OddRequest } from '../../base/testing/odd-requests.ts';
import { sendHeads } from '../../base/testing/raw-http.ts';
import type { AuthorizationAttributes } from '../model/user-info.ts';
import type { ApiServer } from './create-api-server.ts';
import { FakeKubelet } from './testing/fake-kubelet.ts';
import { fakeRequest } from './testing/fake-request.ts';
import { fixture } from './testing/fixtures.ts';
import type { Fixture } from './testing/fixtures.ts';
import { makeTestCertificates } from './testing/test-certificates.ts';

/** Each of the 27 paths with each of the 29 sequences that parsers see differently, nearly. */
const COUNT = 3000;
const one = '/api/v1/namespaces/default';
const paths = [
  '/api/v1/pods',
  `${one}/pods`,
  `${one}/pods/one`,
  `${one}/pods/one/status`,
  `${one}/pods/one/log`,
  `${one}/pods/one/exec`,
  `${one}/pods/one/proxy/`,
  `${one}/pods/one/proxy/a/b`,
  `${one}/pods/https:one:9000/proxy/x`,
  `${one}/services/s:http/proxy/x/y`,
  '/api/v1/nodes/n/proxy/metrics',
  '/api/v1/nodes/n/proxy/pods/',
  '/api/v1/nodes/n:9100/proxy/metrics',
  '/api/v1/nodes/n',
  '/api/v1/namespaces/default',
  '/api/v1/namespaces/default/status',
  '/apis/apps/v1/namespaces/default/deployments/d/scale',
  '/apis/apps/v1/deployments',
  '/api/v1/proxy/nodes/n',
  '/healthz',
  '/readyz/ping',
  '/metrics',
  '/version',
  '/api',
  '/apis',
  '/apis/apps/v1',
  '/',
];
const certificates = makeTestCertificates();

/** The parts of a path as they were sent, each percent-decoded, read without any of the code under test. */
const partsOf = (target: string): readonly string[] =>
  (
    target
      .trim()
      .replace(/^https?:\/\/[^/?]*/i, '')
      .split('?', 1)[0] ?? ''
  )
    .split('/')
    .slice(1)
    .map(decodeURIComponent);

const connects = new Set(['log', 'exec', 'attach', 'portforward', 'proxy']);

describe('thousands of odd requests to the API server', () => {
  const kubelet = new FakeKubelet();
  const judged = new Map<string, AuthorizationAttributes[]>();
  let each: Fixture;
  let server: ApiServer;
  let port = 0;

  before(async () => {
    await kubelet.listen();
    const authorizer = {
      name: 'recorder',
      authorize: (attributes: AuthorizationAttributes) => {
        judged.set(attributes.user.name, [...(judged.get(attributes.user.name) ?? []), attributes]);
        return { decision: 'allow', reason: '' } as const;
      },
    };
    each = fixture({
      clock: systemClock,
      authorizer,
      kubelets: { dialer: kubelet.dialer, preferredAddressTypes: ['InternalIP'] },
    });
    ({ server } = each);
    const make = async (target: string, body: object): Promise<void> => {
      const request = fakeRequest('POST', target, { body });
      await server.handle(request);
      // Until it is read an answer is waited for, half a minute long.
      request.finish();
    };
    await make('/api/v1/nodes', {
      metadata: { name: 'n' },
      status: { addresses: [{ type: 'InternalIP', address: '10.1.0.1' }] },
    });
    await make(`${one}/pods`, {
      metadata: { name: 'one' },
      spec: { nodeName: 'n', containers: [{ name: 'a', ports: [{ containerPort: 80 }] }] },
      status: { podIP: '10.2.0.1', podIPs: [{ ip: '10.2.0.1' }] },
    });
    await make(`${one}/services`, { metadata: { name: 's' }, spec: { ports: [{ name: 'http', port: 80 }] } });
    await make(`${one}/endpoints`, {
      metadata: { name: 's' },
      subsets: [
        {
          addresses: [{ ip: '10.2.0.1', targetRef: { kind: 'Pod', name: 'one', namespace: 'default' } }],
          ports: [{ name: 'http', port: 8080 }],
        },
      ],
    });
    ({ port } = await server.listen({
      host: '127.0.0.1',
      port: 0,
      tls: { key: certificates.key, cert: certificates.cert, clientCa: certificates.clientCa },
    }));
  });
  after(async () => {
    await server.stop();
    await kubelet.close();
  });

  function clear(): void {
    judged.clear();
    each.registry.calls.length = 0;
    kubelet.requests.length = 0;
  }

  /**
   * Every call of the registry and every request of the backend stands for what its user was authorized for, and that
   * for what the request line says.
   */
  function assertServedAsJudged(requests: readonly OddRequest[]): void {
    for (const { verb, request } of each.registry.calls) {
      const { definition, namespace, subresource, name, context } = request;
      const attributes = judged.get(context.user.name)?.[0];
      const shown = JSON.stringify([requests[Number(context.user.name)]?.head, verb, name]);
      assert.ok(attributes !== undefined, shown);
      // On its way to a backend the server itself reads the pod, its service and its node.
      if (connects.has(attributes.subresource))
        assert.ok(definition.type.plural === 'nodes' || attributes.namespace === namespace, shown);
      else
        assert.deepEqual(
          [verb.toLowerCase(), definition.type.group, definition.type.plural, namespace, subresource, name],
          [
            attributes.verb,
            attributes.apiGroup,
            attributes.resource,
            namespace,
            attributes.subresource,
            verb === 'list' ? name : attributes.name,
          ],
          shown,
        );
    }
    for (const { url, headers } of kubelet.requests) {
      const request = requests[Number(headers['x-id'])];
      if (request === undefined) continue;
      const attributes = judged.get(String(request.id))?.[0];
      const at = partsOf(request.target).indexOf('proxy');
      const rest = request.target
        .trim()
        .replace(/^https?:\/\/[^/?]*/i, '')
        .split('/')
        .slice(at + 2)
        .join('/');
      assert.deepEqual([attributes?.subresource, url], ['proxy', `/${rest}`], JSON.stringify(request.head));
    }
    let count = 0;
    for (const [user, [attributes]] of judged) {
      const request = requests[Number(user)];
      assert.ok(request !== undefined && attributes !== undefined);
      assert.equal(attributes.path, `/${partsOf(request.target).join('/')}`, JSON.stringify(request.head));
      assert.ok(
        request.hosts.every((host) => /^[A-Za-z0-9._:[\]-]+$/.test(host)),
        JSON.stringify(request.head),
      );
      count++;
    }
    assert.ok(
      count > COUNT / 4 &&
        count < COUNT &&
        kubelet.requests.length > COUNT / 100 &&
        each.registry.calls.length > COUNT / 20,
      `${count} judged, ${kubelet.requests.length} passed on, ${each.registry.calls.length} served`,
    );
  }

  // Created once, because it is the largest cost of a connection.
  const secureContext = createSecureContext();

  it('odd requests are served over HTTP/1.1 as they were authorized', async () => {
    clear();
    const requests = oddRequests(11, COUNT, paths);
    const answers = await sendHeads(requests, () =>
      connectTls({
        host: '127.0.0.1',
        port,
        rejectUnauthorized: false,
        secureContext,
        ecdhCurve: 'X25519',
        ALPNProtocols: ['http/1.1'],
      }),
    );
    for (const { id, head } of requests) {
      const answer = answers[id];
      const isRefusal =
        answer?.kind === 'answer' &&
        (answer.status < 500 ||
          answer.status === 503 ||
          answer.body.includes('cannot be served over an upgraded connection'));
      assert.ok(answer?.kind === 'closed' || isRefusal, JSON.stringify([head, answer]));
    }
    assertServedAsJudged(requests);
  });

  it('odd requests are served over HTTP/2 as they were authorized', async () => {
    clear();
    // The client of this test sends one host.
    const requests = oddRequests(12, COUNT, paths).map((request) => ({ ...request, hosts: request.hosts.slice(0, 1) }));
    let session: ClientHttp2Session | undefined;
    const send = async ({ id, method, target, hosts: [authority = ''] }: OddRequest): Promise<void> => {
      if (session === undefined || session.destroyed || session.closed) {
        session = connectHttp2(`https://127.0.0.1:${port}`, {
          rejectUnauthorized: false,
          secureContext,
          ecdhCurve: 'X25519',
        });
        session.on('error', () => undefined);
        await once(session, 'connect');
      }
      const stream = session.request(
        {
          ':method': method,
          ':path': target,
          ':authority': authority,
          authorization: `Bearer ${id}`,
          'x-id': String(id),
        },
        { endStream: true },
      );
      await new Promise<void>((resolve) =>
        stream
          .on('error', () => resolve())
          .on('close', resolve)
          .resume(),
      );
    };
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let request = requests[next++]; request !== undefined; request = requests[next++])
        await send(request).catch((error: NodeJS.ErrnoException) =>
          assert.match(error.code ?? '', /^ERR_(HTTP2|INVALID)_/),
        );
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    session?.close();
    assertServedAsJudged(requests);
  });
});
