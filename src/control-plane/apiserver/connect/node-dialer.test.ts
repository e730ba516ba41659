import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { systemClock } from '../../../base/clock.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { makeTestCertificates } from '../testing/test-certificates.ts';
import { nodeDialer } from './node-dialer.ts';

const certificates = makeTestCertificates();
const host = '127.0.0.1';

async function listen(server: Server): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('dialing', () => {
  const shown: (string | undefined)[] = [];
  const kubelet = createTlsServer(
    { key: certificates.key, cert: certificates.cert, requestCert: true, rejectUnauthorized: false },
    (socket: TLSSocket) => {
      const { subject } = socket.getPeerCertificate();
      shown.push((subject as { CN?: string } | undefined)?.CN);
      socket.on('error', () => undefined);
      socket.end('x');
    },
  );
  const silent = createTcpServer((socket) => socket.on('error', () => undefined));
  let tlsPort = 0;
  let silentPort = 0;
  before(async () => {
    tlsPort = await listen(kubelet);
    silentPort = await listen(silent);
  });
  after(() => {
    kubelet.close();
    silent.close();
  });
  const pair = { clientPair: () => certificates.client };

  it('shows its certificate to kubelets and to nobody else', async () => {
    const dialer = nodeDialer({ clock: systemClock, ...pair });
    for (const security of ['kubelet', 'kubelet-unchecked', 'tls-insecure'] as const) {
      const socket = await dialer.dial({ host, port: tlsPort, security }, 5000);
      socket.on('error', () => undefined);
      socket.resume();
      await once(socket, 'end');
      socket.destroy();
    }
    assert.deepEqual(shown, ['jane', 'jane', undefined]);
  });

  it('checks kubelets when it is told whose certificates they have', async () => {
    const dialer = nodeDialer({ clock: systemClock, ...pair, certificateAuthority: () => certificates.clientCa });
    await assert.rejects(
      dialer.dial({ host, port: tlsPort, security: 'kubelet' }, 5000),
      /^Error: dial tcp 127\.0\.0\.1:\d+: /,
    );
    (await dialer.dial({ host, port: tlsPort, security: 'kubelet-unchecked' }, 5000)).destroy();
  });

  it('gives up on who does not answer, and says where it was', async () => {
    const clock = new FakeClock();
    const dialing = nodeDialer({ clock }).dial({ host, port: silentPort, security: 'tls-insecure' }, 1000);
    const refused = assert.rejects(dialing, { message: `dial tcp ${host}:${silentPort}: i/o timeout` });
    await clock.advance(1000);
    await refused;
    assert.equal(clock.armedTimers, 0);
    const closed = createTcpServer();
    const port = await listen(closed);
    closed.close();
    await assert.rejects(nodeDialer({ clock: systemClock }).dial({ host, port, security: 'none' }, 1000), {
      message: `dial tcp ${host}:${port}: connect: connection refused`,
    });
    await assert.rejects(
      nodeDialer({ clock: systemClock }).dial({ host: 'nobody.invalid', port, security: 'none' }, 5000),
      /^Error: dial tcp: lookup nobody\.invalid: (no such host|server misbehaving)$/,
    );
  });
});
