// Requests every known path with every method, on the ports as the agent opens them: an unknown client gets nothing
// except the health of the process.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { selfSignedPair } from './testing/self-signed-pair.ts';
import type { Listening } from '../adapters/net/http-listen.ts';
import { listenUnix } from '../adapters/net/http-listen.ts';
import type { SecureListening } from '../adapters/tls/secure-listen.ts';
import { listenSecurely } from '../adapters/tls/secure-listen.ts';
import { createAuthenticator } from '../features/server/auth/authenticators.ts';
import type { Authenticator, NodeAttributes } from '../features/server/auth/auth-types.ts';
import { createRequestGuard } from '../features/server/auth/request-guard.ts';
import { createHealthApp } from '../features/server/health-app.ts';
import { createKubeletApp } from '../features/server/kubelet-app.ts';
import type { KubeletAppOptions, KubeletAppSources } from '../features/server/kubelet-app.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
/** The paths that agents, Go programs and similar servers are known to serve. */
const elsewhere = [
  '/',
  '/debug/pprof/',
  '/debug/pprof/cmdline',
  '/debug/pprof/heap',
  '/debug/vars',
  '/debug/requests',
  '/json/list',
  '/json/version',
  '/spec',
  '/stats/container',
  '/metrics/cadvisor',
  '/api/v1',
  '/cri/exec/x',
  '/..%2fpods',
  '//pods',
  '/healthz/../pods',
  '/pods/',
  '/PODS',
  '/.env',
];
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

/** The paths of the whole server, with a value for each name. Its sources are not called. */
function knownPaths(): string[] {
  const sources = { checks: { ping: () => undefined } } as unknown as KubeletAppSources;
  const paths = createKubeletApp(sources, switches).routes.map(({ path }) =>
    path.replace(/:[a-z]+(\{.*?\})?/gi, 'x').replaceAll('*', 'x'),
  );
  return [...new Set([...paths, ...elsewhere])];
}

describe('the ports of an agent, for an unknown client', () => {
  const state = {
    served: [] as string[],
    asked: [] as NodeAttributes[],
    authenticator: undefined as Authenticator | undefined,
  };
  const kept = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  let secure: SecureListening | undefined;
  let health: Listening | undefined;
  const folder = mkdtempSync(join(tmpdir(), 'open-ports-'));
  const socketPath = join(folder, 'health.sock');
  before(async () => {
    const asking = { clock: systemClock, random: systemRandom };
    const refusing = createAuthenticator({
      clientAuthorities: () => '',
      tokens: { client: new FakeApiClient({ clock: systemClock }), holdsMs: 0 },
      anonymous: false,
      asking,
    });
    const reader: Authenticator = {
      authenticate: () => Promise.resolve({ outcome: 'user', user: { name: 'reader', groups: [] } }),
    };
    const guard = createRequestGuard({
      authenticator: {
        authenticate: (facts) => (facts.authorization === 'Bearer reader' ? reader : refusing).authenticate(facts),
      },
      authorizer: {
        authorize: (_user, attributes) => {
          state.asked.push(attributes);
          return Promise.resolve(attributes.verb === 'get' ? 'allowed' : 'denied');
        },
      },
      log: silentLogger,
    });
    const pair = selfSignedPair(systemClock.nowMs());
    secure = await listenSecurely({
      host: '127.0.0.1',
      port: 0,
      tls: { cipherSuites: [], minVersion: '', curvePreferences: [] },
      identity: () => pair,
      clientAuthorities: () => undefined,
      onChange: () => () => undefined,
      guard,
      fetch: (request) => {
        state.served.push(request.url);
        return new Response('served');
      },
      openStream: ({ socket, path }) => {
        state.served.push(path);
        socket.destroy();
      },
      clock: systemClock,
      log: silentLogger,
    });
    // The same server as on 10248, where no other server listens.
    health = await listenUnix(createHealthApp({ ping: () => undefined }), socketPath);
  });
  after(async () => {
    kept.destroy();
    await Promise.all([secure?.close(), health?.close()]);
    rmSync(folder, { recursive: true });
  });

  const ask = (make: typeof httpsRequest, options: RequestOptions): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = make(
        { host: '127.0.0.1', agent: false, ...options, ...(make === httpsRequest && { rejectUnauthorized: false }) },
        (response: IncomingMessage) => resolve((response.resume(), response.statusCode ?? 0)),
      );
      sent.on('upgrade', (_response, socket) => resolve((socket.destroy(), 101)));
      sent.on('error', reject).end();
    });

  it('have 401, or 400 for what is no path, on 10250, with an upgrade or without (CVE-2019-11248)', async () => {
    const paths = knownPaths();
    assert.ok(
      paths.length > 40 && paths.includes('/exec/x/x/x') && paths.includes('/checkpoint/x/x/x'),
      paths.join(' '),
    );
    const port = secure?.port ?? 0;
    const upgrade = { connection: 'Upgrade', upgrade: 'SPDY/3.1' };
    const tries = paths.flatMap((path): RequestOptions[] => [
      { method: 'GET', path, agent: kept },
      { method: 'POST', path },
      ...(/^\/(exec|attach|portForward|run|pods)/.test(path)
        ? [
            ...methods.slice(2).map((method) => ({ method, path })),
            ...['GET', 'POST'].map((method) => ({ method, path, headers: upgrade })),
          ]
        : []),
    ]);
    for (const options of tries) {
      const status = await ask(httpsRequest, { port, ...options });
      assert.ok(status === 401 || status === 400, `${options.method} ${options.path}: ${status}`);
    }
    assert.deepEqual(state.served, []);
  });

  it('have the health of the process on 10248, and 404 for all the rest (CVE-2019-11248)', async () => {
    for (const path of knownPaths()) {
      const statuses = await Promise.all(
        methods.map((method) => ask(httpRequest as typeof httpsRequest, { socketPath, method, path })),
      );
      const isOpen = path === '/healthz' || path === '/healthz/ping';
      assert.deepEqual(
        statuses.map((status) => status < 400),
        methods.map((method) => isOpen && ['GET', 'HEAD'].includes(method)),
        path,
      );
    }
  });

  it('let who may get everything into no container by a WebSocket, which is a GET (kubernetes 136550)', async () => {
    for (const path of [
      '/exec/ns/p/c?command=id',
      '/attach/ns/p/c',
      '/portForward/ns/p',
      '/exec/ns/p/uid/c',
      '/run/ns/p/c?cmd=id',
    ]) {
      state.asked.length = 0;
      const socket = new WebSocket(`wss://127.0.0.1:${secure?.port}${path}`, ['v4.channel.k8s.io'], {
        rejectUnauthorized: false,
        headers: { authorization: 'Bearer reader' },
      });
      const status = await new Promise<number>((resolve) => {
        socket.on('error', () => undefined);
        socket.on('unexpected-response', (request, response) => {
          resolve(response.statusCode ?? 0);
          request.destroy();
        });
        socket.on('open', () => resolve(101));
      });
      assert.deepEqual([status, [...new Set(state.asked.map(({ verb }) => verb))]], [403, ['create']], path);
    }
    assert.deepEqual(state.served, []);
  });
});
