import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, beforeEach, describe, it } from 'node:test';
import { FakeKubelet } from '../testing/fake-kubelet.ts';
import { bodyJson, fakeRequest } from '../testing/fake-request.ts';
import type { FakeRequestOptions } from '../testing/fake-request.ts';
import { FakeStream } from '../testing/fake-stream.ts';
import { fixture } from '../testing/fixtures.ts';
import type { Fixture } from '../testing/fixtures.ts';
import { parseProxyName } from './proxy-target.ts';

const api = '/api/v1/namespaces/default';

describe('forwarded requests', () => {
  const kubelet = new FakeKubelet();
  before(() => kubelet.listen());
  after(() => kubelet.close());
  beforeEach(() => {
    kubelet.requests.length = 0;
    kubelet.dialed.length = 0;
    kubelet.answer = (_request, response) => response.end('fine');
  });

  async function cluster(): Promise<Fixture> {
    const each = fixture({ kubelets: { dialer: kubelet.dialer, preferredAddressTypes: ['InternalIP', 'Hostname'] } });
    const make = (target: string, body: object): Promise<unknown> =>
      each.server.handle(fakeRequest('POST', target, { body }));
    const containers = [{ name: 'a', ports: [{ containerPort: 8080 }] }];
    await make('/api/v1/nodes', {
      metadata: { name: 'n' },
      status: {
        addresses: [
          { type: 'Hostname', address: 'host' },
          { type: 'InternalIP', address: '10.1.0.1' },
        ],
        daemonEndpoints: { kubeletEndpoint: { Port: 10_255 } },
      },
    });
    await make('/api/v1/nodes', { metadata: { name: 'mute' }, status: { addresses: [] } });
    await make(`${api}/pods`, {
      metadata: { name: 'one' },
      spec: { nodeName: 'n', containers },
      status: { podIP: '10.2.0.1', podIPs: [{ ip: '10.2.0.1' }] },
    });
    await make(`${api}/pods`, {
      metadata: { name: 'two' },
      spec: { nodeName: 'n', containers: [{ name: 'a' }, { name: 'b' }], initContainers: [{ name: 'i' }] },
    });
    await make(`${api}/pods`, { metadata: { name: 'waits' }, spec: { containers } });
    await make(`${api}/pods`, {
      metadata: { name: 'evil' },
      spec: { nodeName: 'mute', containers },
      status: { podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] },
    });
    await make(`${api}/services`, { metadata: { name: 's' }, spec: { ports: [{ name: 'http', port: 80 }] } });
    await make(`${api}/endpoints`, {
      metadata: { name: 's' },
      subsets: [
        {
          addresses: [
            { ip: '10.9.9.9', targetRef: { kind: 'Pod', name: 'one', namespace: 'default' } },
            { ip: '10.2.0.1', targetRef: { kind: 'Pod', name: 'one', namespace: 'default' } },
            { ip: '10.0.0.9' },
          ],
          ports: [{ name: 'http', port: 8080 }],
        },
      ],
    });
    return each;
  }

  async function ask(
    { server }: Fixture,
    target: string,
    method = 'GET',
    options: FakeRequestOptions = {},
  ): Promise<{ status: number; text: string; headers: object }> {
    const reply = await server.handle(fakeRequest(method, target, options));
    if (reply.kind === 'body')
      return {
        status: reply.status,
        text: reply.headers['content-type'] === 'application/json' ? String(bodyJson(reply).message) : '',
        headers: reply.headers,
      };
    if (reply.kind === 'taken') throw new Error('taken');
    const stream = new FakeStream();
    const closed = new Promise<void>((resolve) => stream.onClose(resolve));
    reply.start(stream);
    await closed;
    return { status: reply.status, text: stream.text, headers: reply.headers };
  }

  it('fetch logs from the node of the pod, with the options the kubelet knows', async () => {
    const reply = await ask(
      await cluster(),
      `${api}/pods/one/log?follow=true&tailLines=5&timestamps=1&sinceSeconds=3&nonsense=1`,
    );
    assert.deepEqual(
      [reply.status, reply.text, kubelet.requests[0]?.url, kubelet.dialed],
      [
        200,
        'fine',
        '/containerLogs/default/one/a?follow=true&timestamps=true&sinceSeconds=3&tailLines=5',
        [{ host: '10.1.0.1', port: 10_255, security: 'kubelet', mayBeLocal: true }],
      ],
    );
  });

  it("are refused with upstream's messages when they are invalid", async () => {
    const each = await cluster();
    const said = async (target: string): Promise<string> => (await ask(each, `${api}/pods/${target}`)).text;
    assert.deepEqual(
      [
        await said('two/log'),
        await said('two/log?container=x'),
        await said('one/log?tailLines=-1'),
        await said('one/log?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z'),
        await said('one/log?limitBytes=0'),
        await said('waits/exec?command=ls'),
        await said('one/exec?command=ls'),
        await said('none/log'),
        await said('evil/log'),
      ],
      [
        'a container name must be specified for pod two, choose one of: [i a b]',
        'container x is not valid for pod two',
        'PodLogOptions "one" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
        'PodLogOptions "one" is invalid: : Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
        'PodLogOptions "one" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
        'pod waits does not have a host assigned',
        'Upgrade request required',
        'pods "none" not found',
        'Internal error occurred: no preferred addresses found; known addresses: []',
      ],
    );
    assert.deepEqual([(await ask(each, `${api}/pods/waits/log`)).status, kubelet.requests.length], [204, 0]);
  });

  it("return the kubelet's error message, and follow no redirect", async () => {
    const each = await cluster();
    const seen: unknown[] = [];
    for (const [status, body] of [
      [400, 'container "a" in pod "one" is waiting to start: ContainerCreating\n'],
      [404, 'gone'],
      [500, 'broken'],
      [302, ''],
    ] as const) {
      kubelet.answer = (_request, response) =>
        response.writeHead(status, status === 302 ? { location: 'http://169.254.169.254/' } : {}).end(body);
      const { status: code, text } = await ask(each, `${api}/pods/one/log`);
      seen.push([code, text]);
    }
    assert.deepEqual(seen, [
      [400, 'container "a" in pod "one" is waiting to start: ContainerCreating'],
      [404, 'the server could not find the requested resource ( pods/log one)'],
      [500, 'Internal error occurred: broken'],
      [500, 'Internal error occurred: redirects forbidden'],
    ]);
    assert.equal(kubelet.requests.length, 4);
  });

  it('go to pods, services and nodes without the client’s credentials', async () => {
    const each = await cluster();
    const headers = {
      authorization: 'Bearer root',
      'impersonate-user': 'jane',
      cookie: 'a=b',
      'x-own': '1',
      connection: 'x-own',
      'content-type': 'text/plain',
    };
    await ask(each, `${api}/pods/one/proxy/a%2Fb/?q=1`, 'POST', { headers, body: 'hello' });
    const [first] = kubelet.requests;
    assert.deepEqual(
      [
        first?.method,
        first?.url,
        first?.body,
        first?.headers.authorization,
        first?.headers['impersonate-user'],
        first?.headers.cookie,
        first?.headers.host,
      ],
      ['POST', '/a%2Fb/?q=1', 'hello', undefined, undefined, 'a=b', '10.2.0.1:8080'],
    );
    await ask(each, `${api}/pods/https:one:9000/proxy/x`);
    await ask(each, `${api}/services/s:http/proxy/`);
    await ask(each, `${api}/services/s:80/proxy/`);
    await ask(each, '/api/v1/nodes/n/proxy/healthz');
    await ask(each, '/api/v1/nodes/n:9100/proxy/metrics');
    assert.deepEqual(kubelet.dialed.slice(1), [
      { host: '10.2.0.1', port: 9000, security: 'tls-insecure' },
      { host: '10.2.0.1', port: 8080, security: 'none' },
      { host: '10.2.0.1', port: 8080, security: 'none' },
      { host: '10.1.0.1', port: 10_255, security: 'kubelet' },
      { host: '10.1.0.1', port: 9100, security: 'none' },
    ]);
  });

  it('are not forwarded to an address that belongs to no pod', async () => {
    const each = await cluster();
    const said = async (target: string): Promise<string> => (await ask(each, `${api}/${target}/proxy/`)).text;
    assert.deepEqual(
      [
        await said('pods/evil'),
        await said('services/s:99'),
        await said('services/s:other'),
        await said('pods/ftp:one:1'),
        await said('pods/one:0'),
        kubelet.dialed,
      ],
      [
        'address not allowed',
        'no service port 99 found for service "s"',
        'no endpoints available for service "s:other"',
        'invalid pod request "ftp:one:1"',
        'invalid port "0"',
        [],
      ],
    );
    assert.deepEqual(parseProxyName('https:a:b', 'pod'), { scheme: 'https', name: 'a', port: 'b' });
  });

  it('compare addresses of pods by value, not by spelling', async () => {
    const each = await cluster();
    const make = (target: string, body: object): Promise<unknown> =>
      each.server.handle(fakeRequest('POST', target, { body }));
    const forged = [
      '127.0.0.1',
      '169.254.169.254',
      '0.0.0.0',
      '::1',
      '0:0:0:0:0:0:0:1',
      'fe80::1',
      '224.0.0.1',
      '::ffff:127.0.0.1',
      'localhost',
      '10.0.0.010',
      '0:0:0:0:0:ffff:7f00:1',
      '0::ffff:a9fe:a9fe',
      '::127.0.0.1',
      '64:ff9b::a9fe:a9fe',
      '2002:7f00:1::',
      '0x7f000001',
      '0177.0.0.1',
      '2130706433',
      '127.1',
      'ip6-localhost',
      'fe80::1%eth0',
    ];
    for (const [at, ip] of [...forged, 'fd00:0::5'].entries()) {
      await make(`${api}/pods`, {
        metadata: { name: `forged-${at}` },
        spec: { nodeName: 'n', containers: [{ name: 'a' }] },
        status: { podIP: ip, podIPs: [{ ip }] },
      });
      await make(`${api}/services`, {
        metadata: { name: `forged-${at}` },
        spec: { ports: [{ name: 'http', port: 80 }] },
      });
      await make(`${api}/endpoints`, {
        metadata: { name: `forged-${at}` },
        subsets: [
          {
            addresses: [
              {
                ip: ip === 'fd00:0::5' ? 'FD00::5' : ip,
                targetRef: { kind: 'Pod', name: `forged-${at}`, namespace: 'default' },
              },
            ],
            ports: [{ name: 'http', port: 8080 }],
          },
        ],
      });
    }
    for (const [at, ip] of forged.entries()) {
      assert.deepEqual([ip, (await ask(each, `${api}/pods/forged-${at}/proxy/`)).text], [ip, 'address not allowed']);
      assert.deepEqual([ip, (await ask(each, `${api}/services/forged-${at}:http/proxy/`)).status], [ip, 503]);
    }
    assert.deepEqual(kubelet.dialed, []);
    assert.deepEqual(
      [(await ask(each, `${api}/services/forged-${forged.length}:http/proxy/`)).status, kubelet.dialed],
      [200, [{ host: 'FD00::5', port: 8080, security: 'none' }]],
    );
  });

  it('are not forwarded to a node with a loopback or link-local address, on any port (CVE-2022-3294)', async () => {
    const each = await cluster();
    const forged = [
      '169.254.169.254',
      '127.0.0.1',
      '::1',
      'fe80::1',
      '::ffff:127.0.0.1',
      '0.0.0.0',
      'localhost',
      'LOCALHOST.',
      'a.localhost',
      'localhost.localdomain',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '127.1',
      '0:0:0:0:0:ffff:7f00:1',
      '0::ffff:a9fe:a9fe',
      '::127.0.0.1',
      '64:ff9b::a9fe:a9fe',
      '2002:7f00:1::1',
      'fe80::1%eth0',
      '::1%lo',
      '0',
      'n/x',
      'a b',
      'u@n',
    ];
    for (const [at, address] of forged.entries()) {
      await each.server.handle(
        fakeRequest('POST', '/api/v1/nodes', {
          body: { metadata: { name: `forged-${at}` }, status: { addresses: [{ type: 'InternalIP', address }] } },
        }),
      );
      for (const port of ['', ':6443'])
        assert.deepEqual(
          [(await ask(each, `/api/v1/nodes/forged-${at}${port}/proxy/`)).text, address],
          ['address not allowed', address],
        );
    }
    assert.deepEqual(kubelet.dialed, []);
  });

  it('do not forward a path that would end the request line', async () => {
    const each = await cluster();
    assert.deepEqual(
      [(await ask(each, `${api}/pods/one/proxy/a b HTTP/1.1\r\nx: y`)).status, kubelet.dialed],
      [400, []],
    );
  });

  it('name an unreachable target', async () => {
    const dialer = { dial: () => Promise.reject(new Error('dial tcp 10.1.0.1:10250: connect: connection refused')) };
    const each = fixture({ kubelets: { dialer, preferredAddressTypes: ['InternalIP'] } });
    await each.server.handle(
      fakeRequest('POST', '/api/v1/nodes', {
        body: { metadata: { name: 'n' }, status: { addresses: [{ type: 'InternalIP', address: '10.1.0.1' }] } },
      }),
    );
    await each.server.handle(
      fakeRequest('POST', `${api}/pods`, {
        body: { metadata: { name: 'one' }, spec: { nodeName: 'n', containers: [{ name: 'a' }] } },
      }),
    );
    const said = async (target: string, upgrade?: string): Promise<unknown> => {
      const request = fakeRequest('GET', target, { headers: { upgrade } });
      const reply = await each.server.handle(
        upgrade === undefined
          ? request
          : { ...request, upgrade: { socket: new PassThrough(), head: Buffer.alloc(0), native: undefined } },
      );
      assert.ok(reply.kind === 'body');
      const { message, reason, code } = bodyJson(reply) as { message?: string; reason?: string; code?: number };
      return [code, reason, message];
    };
    assert.deepEqual(
      [
        await said(`${api}/pods/one/log?follow=true`),
        await said(`${api}/pods/one/exec?command=ls`, 'SPDY/3.1'),
        await said('/api/v1/nodes/n/proxy/healthz'),
      ],
      [
        [
          500,
          undefined,
          'Get "https://10.1.0.1:10250/containerLogs/default/one/a?follow=true": dial tcp 10.1.0.1:10250: connect: connection refused',
        ],
        [500, undefined, 'error dialing backend: dial tcp 10.1.0.1:10250: connect: connection refused'],
        [
          503,
          'ServiceUnavailable',
          'error trying to reach service: dial tcp 10.1.0.1:10250: connect: connection refused',
        ],
      ],
    );
  });

  it('rewrite redirects of the backend to go through the proxy', async () => {
    const each = await cluster();
    const seen: unknown[] = [];
    for (const location of ['/login', 'http://10.2.0.1:8080/x?y=1', 'https://elsewhere.example/']) {
      kubelet.answer = (_request, response) => response.writeHead(302, { location }).end();
      seen.push(((await ask(each, `${api}/pods/one/proxy/`)).headers as { location: string }).location);
    }
    assert.deepEqual(seen, [
      `${api}/pods/one/proxy/login`,
      `${api}/pods/one/proxy/x?y=1`,
      'https://elsewhere.example/',
    ]);
    const bare = await ask(each, `${api}/pods/one/proxy?a=1`);
    assert.deepEqual(
      [bare.status, (bare.headers as { location: string }).location],
      [301, `${api}/pods/one/proxy/?a=1`],
    );
  });

  it('rewrite the links of HTML pages, and nothing else', async () => {
    const each = await cluster();
    const page = '<a href="/x">y</a>';
    const answerOf = async (type: string): Promise<unknown> => {
      const headers = { 'content-type': type, 'content-length': String(page.length) };
      kubelet.answer = (_request, response) => response.writeHead(200, headers).end(page);
      const reply = await ask(each, `${api}/pods/one/proxy/`);
      return [reply.text, (reply.headers as { 'content-length'?: string })['content-length']];
    };
    assert.deepEqual(await answerOf('text/html; charset=utf-8'), [
      `<a href="${api}/pods/one/proxy/x">y</a>`,
      undefined,
    ]);
    assert.deepEqual(await answerOf('text/plain'), [page, String(page.length)]);
  });

  it('end when the backend ends, and close its connection when the client leaves', async () => {
    const each = await cluster();
    kubelet.answer = (_request, response) => {
      response.write('half');
      setImmediate(() => response.destroy());
    };
    const reply = await each.server.handle(fakeRequest('GET', `${api}/pods/one/proxy/`));
    assert.ok(reply.kind === 'stream');
    const stream = new FakeStream();
    await new Promise<void>((resolve) => {
      stream.onClose(resolve);
      reply.start(stream);
    });
    assert.deepEqual([stream.state, stream.text], ['destroyed', 'half']);
    kubelet.answer = (_request, response) => response.write('a line\n');
    const request = fakeRequest('GET', `${api}/pods/one/log?follow=true`);
    const log = await each.server.handle(request);
    assert.ok(log.kind === 'stream');
    log.start(new FakeStream());
    request.finish();
    while (kubelet.openConnections > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('require the right to create for a WebSocket with GET, and pass admission', async () => {
    const asked: string[] = [];
    const authorizer = {
      name: 'a',
      authorize: ({ verb }: { verb: string }) => (
        asked.push(verb), { decision: verb === 'create' ? 'noOpinion' : 'allow', reason: '' } as const
      ),
    };
    const admitted: string[] = [];
    const connectAdmission = [
      {
        name: 'p',
        handles: () => true,
        validate: ({ operation, subresource, options }: { operation: string; subresource: string; options: object }) =>
          void admitted.push(`${operation} ${subresource} ${JSON.stringify(options)}`),
      },
    ];
    const each = fixture({ kubelets: { dialer: kubelet.dialer }, authorizer, connectAdmission });
    const { status } = await ask(each, `${api}/pods/one/exec?command=ls&command=-l`);
    assert.deepEqual([status, asked, admitted], [403, ['get', 'create'], ['CONNECT exec {"command":["ls","-l"]}']]);
  });
});
