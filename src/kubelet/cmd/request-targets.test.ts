// Every server of the agent authorizes and routes the same request, for all request lines and Host headers.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { Hono } from 'hono';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { oddRequests } from '../../base/testing/odd-requests.ts';
import type { OddRequest } from '../../base/testing/odd-requests.ts';
import { sendHeads } from '../../base/testing/raw-http.ts';
import type { RawAnswer } from '../../base/testing/raw-http.ts';
import { selfSignedPair } from './testing/self-signed-pair.ts';
import { listenUnix } from '../adapters/net/http-listen.ts';
import { listenSecurely } from '../adapters/tls/secure-listen.ts';
import type { SecureListening, SecureListenOptions } from '../adapters/tls/secure-listen.ts';
import { createManifestServer } from '../features/pod-config/manifest-server.ts';
import type { ManifestServerOptions } from '../features/pod-config/manifest-server.ts';
import type { Authenticator } from '../features/server/auth/auth-types.ts';
import { createRequestGuard } from '../features/server/auth/request-guard.ts';
import { createHealthApp } from '../features/server/health-app.ts';
import { createKubeletApp } from '../features/server/kubelet-app.ts';
import type { KubeletAppOptions, KubeletAppSources } from '../features/server/kubelet-app.ts';
import { createLocalApi } from '../features/server/local-api.ts';
import type { LocalApiSources } from '../features/server/local-api.ts';
import { createReadOnlyApp } from '../features/server/read-only-app.ts';

const COUNT = 3000;
const switches: KubeletAppOptions = {
  debuggingHandlers: true,
  profilingHandler: true,
  debugFlagsHandler: true,
  systemLogHandler: true,
  systemLogQuery: true,
  flagz: true,
  statusz: true,
  checkpoints: true,
  splitLogStreams: true,
};
const checks = { ping: () => undefined };
const secrets = {
  pods: () => [{ metadata: { name: 'secret-pod' } }],
  runningPods: () => [{ metadata: { name: 'secret-pod' } }],
  config: () => ({ secret: 'configuration' }),
  run: () => Promise.resolve(new TextEncoder().encode('secret output')),
  checks,
};

const pair = selfSignedPair(systemClock.nowMs());

function openSecure(
  parts: Pick<SecureListenOptions, 'guard' | 'fetch'> & Partial<SecureListenOptions>,
): Promise<SecureListening> {
  return listenSecurely({
    host: '127.0.0.1',
    port: 0,
    tls: { cipherSuites: [], minVersion: '', curvePreferences: [] },
    identity: () => pair,
    clientAuthorities: undefined,
    onChange: () => () => undefined,
    openStream: ({ socket }) => socket.destroy(),
    clock: systemClock,
    log: silentLogger,
    ...parts,
  });
}

describe('a user who may read the metrics of a node and nothing else', () => {
  const open: SecureListening[] = [];
  after(() => Promise.all(open.map((each) => each.close())));

  it('a user with nodes/metrics alone has the metrics, whatever the Host header says', async () => {
    const reader: Authenticator = {
      authenticate: () => Promise.resolve({ outcome: 'user', user: { name: 'reader', groups: [] } }),
    };
    const guard = createRequestGuard({
      authenticator: reader,
      authorizer: {
        authorize: (_user, { verb, subresource }) =>
          Promise.resolve(verb === 'get' && subresource === 'metrics' ? 'allowed' : 'denied'),
      },
      log: silentLogger,
    });
    const app = createKubeletApp(
      {
        ...secrets,
        scrape: new Map([
          ['GET /metrics', () => Promise.resolve({ status: 200, headers: {}, body: 'the metrics' } as const)],
        ]),
      } as unknown as KubeletAppSources,
      switches,
    );
    const server = await openSecure({ guard, fetch: (request) => app.fetch(request) });
    open.push(server);
    const paths = [
      '/pods',
      '/runningpods/',
      '/configz',
      '/containerLogs/ns/p/c',
      '/run/ns/p/c',
      '/exec/ns/p/c',
      '/logs/',
      '/debug/pprof/cmdline',
    ];
    const hosts = paths.flatMap((path) => [
      `\u00fc.\u00fc${path}?x=&aaa`,
      `n${path}?x=`,
      `n${path}#`,
      `\u00fc${path}?`,
      `u@n${path}?`,
      `n\\..${path}?`,
    ]);
    const requests = hosts.flatMap((host) =>
      ['GET', 'POST'].map((method) => ({ method, head: `${method} /metrics HTTP/1.1\r\nHost: ${host}\r\n\r\n` })),
    );
    const answers = await sendHeads(
      requests,
      () => connectTls({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false }),
      1,
    );
    assert.deepEqual(
      answers.map((answer) => (answer.kind === 'answer' ? answer.status : 0)),
      requests.map(() => 400),
    );
    const plain = await sendHeads(
      [
        { method: 'GET', head: 'GET /metrics HTTP/1.1\r\nHost: n\r\n\r\n' },
        { method: 'GET', head: 'GET /pods HTTP/1.1\r\nHost: n\r\n\r\n' },
      ],
      () => connectTls({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false }),
      1,
    );
    assert.deepEqual(
      plain.map((answer) => (answer.kind === 'answer' ? [answer.status, answer.body.slice(0, 9)] : [])),
      [
        [200, 'the metri'],
        [403, 'Forbidden'],
      ],
    );
  });
});

/** The route of an app that a request reached, and the path by which it did. */
interface Routed {
  readonly path: string;
  readonly route: string;
  readonly method: string;
}

/** Replaces the routes of an app, so that requests are not served but recorded by their number. */
function recording(app: Pick<Hono, 'routes'>): { readonly app: Hono; readonly served: Map<number, Routed> } {
  const served = new Map<number, Routed>();
  const made = new Hono();
  const routes = new Map(app.routes.map(({ method, path }) => [`${method} ${path}`, { method, path }]));
  // Middleware of the manifest server covers everything.
  for (const { method, path } of routes.values()) {
    if (path === '*' || path === '/*') continue;
    const write = (context: {
      req: { path: string; method: string; header(name: string): string | undefined };
      text(text: string): Response;
    }): Response => {
      served.set(Number(context.req.header('x-id')), {
        path: context.req.path,
        route: path,
        method: context.req.method,
      });
      return context.text('');
    };
    if (method === 'ALL') made.all(path, write);
    else made.on(method, path, write);
  }
  made.notFound((context) => {
    served.set(Number(context.req.header('x-id')), { path: context.req.path, route: '', method: context.req.method });
    return context.text('', 404);
  });
  return { app: made, served };
}

/** Returns the only path that the request line can mean. It uses none of the code under test. */
const meant = ({ target }: OddRequest): string => decodeURIComponent(target.trim().split('?', 1)[0] ?? '');

const isPlainHost = (host: string): boolean => /^[A-Za-z0-9._:[\]-]+$/.test(host);

function assertRoutedAsSent(
  requests: readonly OddRequest[],
  answers: readonly RawAnswer[],
  served: ReadonlyMap<number, Routed>,
): void {
  let routed = 0;
  for (const request of requests) {
    const answer = answers[request.id];
    const found = served.get(request.id);
    const shown = JSON.stringify(request.head);
    assert.ok(answer !== undefined && (answer.kind === 'closed' || answer.status < 500), shown);
    if (found === undefined) continue;
    assert.deepEqual([found.path, found.method], [meant(request), request.method], shown);
    assert.ok(request.hosts.every(isPlainHost), shown);
    assert.ok(!/\/\/|\/\.{1,2}(\/|$)|[\\%?#]/.test(found.path), shown);
    if (found.route !== '') routed++;
  }
  assert.ok(routed > COUNT / 20 && served.size < COUNT, `${routed} of ${COUNT} came to a route`);
}

describe('thousands of odd requests', () => {
  // Created once, because it is the largest cost of a connection.
  const secureContext = createSecureContext();
  const folder = mkdtempSync(join(tmpdir(), 'request-targets-'));
  const closing: (() => Promise<void>)[] = [];
  after(async () => {
    await Promise.all(closing.map((close) => close()));
    rmSync(folder, { recursive: true });
  });
  const pathsOf = (app: Pick<Hono, 'routes'>): readonly string[] => [
    ...new Set(app.routes.map(({ path }) => path.replace(/:[a-z]+(\{.*?\})?\??/gi, 'x').replaceAll('*', 'x'))),
  ];

  async function attack(
    seed: number,
    app: Pick<Hono, 'routes'>,
    serve: (made: Hono) => Promise<() => Socket>,
  ): Promise<ReadonlyMap<number, Routed>> {
    const { app: made, served } = recording(app);
    const connect = await serve(made);
    const requests = oddRequests(seed, COUNT, pathsOf(app));
    assertRoutedAsSent(requests, await sendHeads(requests, connect), served);
    return served;
  }

  /** The servers without a guard listen in the same way, on a port or on a socket. */
  const attackPlain = (seed: number, app: Pick<Hono, 'routes'>) => async (): Promise<void> => {
    await attack(seed, app, async (made) => {
      const listening = await listenUnix(made, join(folder, `${seed}.sock`));
      closing.push(() => listening.close());
      return () => connectTcp(listening.address);
    });
  };

  it('odd requests are judged on 10250 by the path and method that are routed', async () => {
    const judged = new Map<number, { path: string; method: string }>();
    const app = createKubeletApp({ checks } as unknown as KubeletAppSources, switches);
    const served = await attack(1, app, async (made) => {
      const server = await openSecure({
        guard: {
          check: ({ method, path, authorization }) => {
            judged.set(Number(authorization?.slice('Bearer '.length)), { path, method });
            return Promise.resolve({ outcome: 'allowed', user: { name: 'u', groups: [] } });
          },
        },
        fetch: (request) => made.fetch(request),
      });
      closing.push(() => server.close());
      return () =>
        connectTls({
          host: '127.0.0.1',
          port: server.port,
          rejectUnauthorized: false,
          secureContext,
          ecdhCurve: 'X25519',
        });
    });
    for (const [id, { path, method }] of served) assert.deepEqual(judged.get(id), { path, method });
  });

  it(
    'odd requests are routed on 10255 as they were sent',
    attackPlain(2, createReadOnlyApp({ checks, pods: () => [] })),
  );

  it('odd requests are routed on 10248 as they were sent', attackPlain(3, createHealthApp(checks)));

  it(
    'odd requests are routed on the local socket as they were sent',
    attackPlain(4, createLocalApi({ checks } as unknown as LocalApiSources)),
  );

  it(
    'odd requests are routed by the manifest server as they were sent',
    attackPlain(5, createManifestServer({ log: silentLogger } as ManifestServerOptions)),
  );
});
