import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import type { Server, TLSSocket } from 'node:tls';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { makeWebhookCertificate } from '../../admission/testing/webhook-certificate.ts';
import type { ApiBackend } from '../../model/api-backends.ts';
import { backendDialer } from './backend-dialer.ts';

describe('the connection to an aggregated server', () => {
  const own = makeWebhookCertificate(['DNS:api.apis.svc']);
  const [other, client] = [makeWebhookCertificate(['DNS:other.apis.svc']), makeWebhookCertificate(['DNS:proxy'])];
  const servers: Server[] = [];
  const shown: { name: string | false | null; client: string }[] = [];
  const ports: number[] = [];

  const listen = (pair: typeof own): Promise<number> =>
    new Promise((resolve) => {
      const options = { ...pair, requestCert: true, rejectUnauthorized: false };
      const server = createServer(options, (socket: TLSSocket) => {
        const certificate = socket.getPeerX509Certificate();
        shown.push({ name: socket.servername, client: certificate?.subjectAltName ?? '' });
        socket.on('error', () => undefined).end('seen');
      });
      server.on('tlsClientError', () => undefined);
      servers.push(server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));
    });
  before(async () => void ports.push(await listen(own), await listen(other)));
  after(() => servers.forEach((server) => server.close()));

  const dial = backendDialer({ clock: systemClock, clientPair: () => client });
  const backend = (changes: Partial<ApiBackend>): ApiBackend => ({
    name: 'v1.example.com',
    group: 'example.com',
    version: 'v1',
    service: { namespace: 'apis', name: 'api', port: 443 },
    insecureSkipTLSVerify: false,
    groupPriority: 2000,
    versionPriority: 10,
    isAvailable: true,
    resources: [],
    ...changes,
  });
  async function connect(changes: Partial<ApiBackend>, port = ports[0] ?? 0): Promise<string> {
    try {
      const socket = await dial(backend(changes), { host: '127.0.0.1', port }, 10_000);
      await new Promise<void>((resolve) => socket.once('end', () => resolve()).resume());
      socket.destroy();
      return 'connected';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  it('trusts only the CAs of its APIService, and verifies the name of its Service', async () => {
    assert.equal(await connect({ caBundle: own.cert }), 'connected');
    assert.match(await connect({ caBundle: other.cert }), /^dial tcp 127\.0\.0\.1:\d+: self-signed certificate/);
    assert.match(await connect({}), /self-signed certificate/, 'without a bundle those of the system count');
    assert.match(
      await connect({ caBundle: other.cert }, ports[1]),
      /Hostname\/IP does not match certificate's altnames: Host: api\.apis\.svc\. is not in the cert's altnames: DNS:other\.apis\.svc/,
    );
  });

  it('accepts any certificate with insecureSkipTLSVerify', async () => {
    assert.equal(await connect({ insecureSkipTLSVerify: true }, ports[1]), 'connected');
  });

  it("requests the Service by its name, and presents this server's client certificate", async () => {
    shown.length = 0;
    await connect({ caBundle: own.cert });
    assert.deepEqual(shown, [{ name: 'api.apis.svc', client: 'DNS:proxy' }]);
  });

  it('resumes only sessions with the same trust settings', async () => {
    const resumed: boolean[] = [];
    const { port } = servers[0]?.address() as AddressInfo;
    servers[0]?.on('secureConnection', (socket) => resumed.push(socket.isSessionReused()));
    const trusting = backendDialer({ clock: systemClock, clientPair: () => client });
    const visit = async (changes: Partial<ApiBackend>): Promise<string> => {
      try {
        const socket = await trusting(backend(changes), { host: '127.0.0.1', port }, 10_000);
        await new Promise<void>((resolve) => socket.once('end', () => resolve()).resume());
        socket.destroy();
        return 'connected';
      } catch {
        return 'refused';
      }
    };
    assert.deepEqual(
      [await visit({ caBundle: own.cert }), await visit({ caBundle: own.cert }), await visit({ caBundle: other.cert })],
      ['connected', 'connected', 'refused'],
    );
    assert.deepEqual(resumed.slice(0, 2), [false, true]);
  });

  it('is aborted if the handshake takes too long', async () => {
    const { createServer: plain } = await import('node:net');
    const silent = plain((socket) => void socket.on('error', () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const failed = dial(backend({}), { host: '127.0.0.1', port }, 50);
    await assert.rejects(failed, /dial tcp 127\.0\.0\.1:\d+: i\/o timeout/);
    silent.close();
  });
});
