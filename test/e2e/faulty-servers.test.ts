// Each HTTP client of ours, against servers that answer as no server should.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { HttpTransport } from '../../src/client/http-transport.ts';
import { WebhookClient } from '../../src/control-plane/admission/webhooks/webhook-client.ts';
import { FakeObjectReader } from '../../src/control-plane/model/testing/fake-object-reader.ts';
import { scrapeKubelet } from '../../src/control-plane/apiserver/metrics-api/kubelet-scrape.ts';
import { makeTestCertificates } from '../../src/control-plane/apiserver/testing/test-certificates.ts';
import { askJson } from '../../src/control-plane/authn/webhook/http-json.ts';
import { netDial } from '../../src/kubelet/adapters/net/net-dial.ts';
import { ApiClient } from '../../src/kubelet/cmd/cli/api-client.ts';
import { requestUpgrade } from '../../src/streaming/upgrade.ts';
import { getJson, watchPods } from '../../src/up/agent-client.ts';
import { statusOf } from '../../src/up/cluster/seed.ts';
import { pushImage } from '../../src/up/images/registry-push.ts';
import { attacks, faultyServer } from './support/faulty-server.ts';
import type { Attack, FaultyServer } from './support/faulty-server.ts';

/** Each client must give up within this time; the limits that it is configured with are shorter. */
const endMs = 5000;
const limitMs = 150;
const mebibyte = 1024 * 1024;
/** More than any client reads, including what sockets buffer. */
const mostSent = 48 * mebibyte;

interface Client {
  readonly name: string;
  readonly server: 'tcp' | 'tls' | 'socket';
  /** Sends one request. Resolves with the response that the client accepted. */
  readonly ask: (at: { readonly port: number; readonly path: string }) => Promise<unknown>;
  /**
   * The client has no time limit that a test could wait for, because its callers end it: only attacks that end by
   * themselves are tested.
   */
  readonly mayWait?: boolean;
  /** Attacks during which the client may continue as long as data arrives. */
  readonly goesOn?: readonly string[];
  /** The client does not keep what it receives. */
  readonly keepsNothing?: boolean;
  /** A truncated response is a valid result for the client: for example, probes only read the head. */
  readonly takesPieces?: boolean;
}

const folder = mkdtempSync(join(tmpdir(), 'faulty-'));
const { key, cert } = makeTestCertificates();
const plain = (port: number): string => `http://127.0.0.1:${port}`;
const transports: HttpTransport[] = [];
const webhooks = new WebhookClient({ reader: new FakeObjectReader(), clock: systemClock, random: seededRandom(1) });

function transport(server: string, proxyUrl?: string): HttpTransport {
  const made = new HttpTransport(
    { server, insecureSkipTlsVerify: true, namespace: 'default', ...(proxyUrl !== undefined && { proxyUrl }) },
    {
      userAgent: 'test',
      requestLimitMs: limitMs,
      dialLimitMs: limitMs,
      watchIdleMs: limitMs,
      maxBodyBytes: mebibyte,
      maxLineBytes: mebibyte,
    },
  );
  transports.push(made);
  return made;
}

async function dial(port: number): Promise<Socket> {
  const socket = connectTcp(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

async function firstOf(values: AsyncGenerator<unknown>): Promise<unknown> {
  for await (const value of values) return value;
  throw new Error('the watch has ended');
}

const image = {
  layers: [],
  config: { digest: 'sha256:0', content: Buffer.alloc(10) },
  manifest: { digest: 'sha256:1', content: Buffer.alloc(10) },
} as unknown as Parameters<typeof pushImage>[1];

const clients: readonly Client[] = [
  {
    name: 'a webhook or an issuer of tokens that authentication and authorization ask',
    server: 'tcp',
    ask: ({ port }) => askJson({ url: plain(port), timeoutMs: limitMs }, { a: 1 }),
  },
  {
    name: 'an admission webhook',
    server: 'tls',
    ask: ({ port }) =>
      webhooks.post(
        { url: `https://localhost:${port}/`, caBundle: Buffer.from(cert).toString('base64') },
        {},
        limitMs / 1000,
      ),
  },
  {
    name: 'a kubelet whose numbers are read',
    server: 'tcp',
    ask: ({ port }) =>
      scrapeKubelet(
        { dial: () => dial(port) },
        { host: '127.0.0.1', port, security: 'none' } as unknown as Parameters<typeof scrapeKubelet>[1],
        limitMs,
      ),
  },
  {
    name: 'an API server',
    server: 'tls',
    ask: ({ port }) => transport(`https://127.0.0.1:${port}`).send({ method: 'GET', path: '/api' }),
  },
  {
    name: 'an API server that is watched',
    server: 'tls',
    ask: ({ port }) =>
      firstOf(transport(`https://127.0.0.1:${port}`).stream('/api?watch=1', new AbortController().signal)),
    goesOn: ['a body that drips'],
  },
  {
    name: 'a proxy to an API server',
    server: 'tcp',
    ask: ({ port }) => transport('https://127.0.0.1:1', plain(port)).send({ method: 'GET', path: '/api' }),
  },
  {
    name: 'a container that is probed',
    server: 'tcp',
    ask: ({ port }) =>
      netDial.httpProbe({ scheme: 'http', host: '127.0.0.1', port, path: '/', headers: [], timeoutMs: limitMs }),
    takesPieces: true,
  },
  {
    name: 'a container that is probed over TLS',
    server: 'tls',
    ask: ({ port }) =>
      netDial.httpProbe({ scheme: 'https', host: '127.0.0.1', port, path: '/', headers: [], timeoutMs: limitMs }),
    takesPieces: true,
  },
  {
    name: 'the manifest URL',
    server: 'tcp',
    ask: ({ port }) =>
      netDial
        .fetch(plain(port), [], { timeoutMs: limitMs, limitBytes: mebibyte })
        .then(({ status }) => assert.equal(status, 200)),
  },
  {
    name: 'the registry',
    server: 'tcp',
    ask: ({ port }) => pushImage({ url: plain(port), answerLimitMs: limitMs }, image, { repository: 'a', tag: 'b' }),
  },
  {
    name: 'the agent, asked by a command',
    server: 'socket',
    ask: ({ path }) => new ApiClient(path).json('/pods'),
    mayWait: true,
  },
  { name: 'the agent, asked by up', server: 'socket', ask: ({ path }) => getJson(path, '/pods', limitMs) },
  {
    name: 'the agent, watched by up',
    server: 'socket',
    ask: ({ path }) => watchPods(path, () => undefined, AbortSignal.timeout(limitMs)),
    takesPieces: true,
    keepsNothing: true,
  },
  { name: 'the example of up', server: 'tcp', ask: ({ port }) => statusOf(plain(port), limitMs), takesPieces: true },
  {
    name: 'a backend that is to switch protocols',
    server: 'tcp',
    takesPieces: true,
    mayWait: true,
    ask: async ({ port }) => {
      const answer = await requestUpgrade({
        connection: await dial(port),
        method: 'GET',
        path: '/',
        headers: {},
        protocol: 'SPDY/3.1',
        clock: systemClock,
      });
      answer.response.destroy();
      if (answer.kind === 'switched') throw new Error('it switched');
    },
  },
];

/** Attacks that only the server or a time limit ends. */
const endless = new Set([
  'nothing',
  'a body that stops',
  'a coding that is not known, and no end',
  'a head that drips',
  'a body that drips',
  'interim answers without end',
  'the extension of a chunk without end',
  'a body without end',
  'a body without a length or an end',
]);

describe('servers that answer as no server should', () => {
  const servers = new Map<Client['server'], FaultyServer>();
  const socketPath = join(folder, 'faulty.sock');
  before(async () => {
    servers.set('tcp', await faultyServer());
    servers.set('tls', await faultyServer({ tls: { key, cert } }));
    servers.set('socket', await faultyServer({ path: socketPath }));
  });
  after(async () => {
    webhooks.close();
    for (const each of transports) each.close();
    for (const server of servers.values()) await server.close();
    rmSync(folder, { recursive: true });
  });

  /** The problem of a client, if there is one. */
  async function tryOne(client: Client, attack: Attack): Promise<string | undefined> {
    const server = servers.get(client.server);
    assert.ok(server !== undefined);
    server.attack = attack;
    server.takeSent();
    const late = Promise.withResolvers<string>();
    const timer = setTimeout(() => late.resolve('never settled'), endMs);
    const outcome = await Promise.race([
      client.ask({ port: server.port, path: socketPath }).then(
        () => 'answered',
        () => 'failed',
      ),
      late.promise,
    ]);
    clearTimeout(timer);
    if (outcome === 'never settled') return outcome;
    for (const each of transports.splice(0)) each.close();
    webhooks.close();
    for (let looks = 0; server.open.size > 0 && looks < 200; looks++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    if (server.open.size > 0) return 'left its connection open';
    const sent = server.takeSent();
    if (sent > mostSent && client.keepsNothing !== true) return `took ${sent} bytes`;
    return outcome === 'answered' && attack.mayAnswer !== true && client.takesPieces !== true
      ? 'took it for an answer'
      : undefined;
  }

  for (const client of clients) {
    it(`are given up in time and memory: ${client.name}`, async () => {
      const wrong: string[] = [];
      for (const attack of attacks) {
        if (client.mayWait === true && endless.has(attack.name)) continue;
        if (client.goesOn?.includes(attack.name) === true) continue;
        const why = await tryOne(client, attack);
        if (why !== undefined) wrong.push(`${attack.name}: ${why}`);
        for (const socket of servers.get(client.server)?.open ?? []) socket.destroy();
      }
      assert.deepEqual(wrong, []);
    });
  }
});
