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

  it('presents its certificate only to kubelets', async () => {
    const dialer = nodeDialer({ clock: systemClock, ...pair });
    for (const security of ['kubelet', 'kubelet-unchecked', 'tls-insecure'] as const) {
      const socket = await dialer.dial({ host, port: tlsPort, security, mayBeLocal: true }, 5000);
      socket.on('error', () => undefined);
      socket.resume();
      await once(socket, 'end');
      socket.destroy();
    }
    assert.deepEqual(shown, ['jane', 'jane', undefined]);
  });

  it('verifies kubelets when it has their CA', async () => {
    const dialer = nodeDialer({ clock: systemClock, ...pair, certificateAuthority: () => certificates.clientCa });
    await assert.rejects(
      dialer.dial({ host, port: tlsPort, security: 'kubelet', mayBeLocal: true }, 5000),
      /^Error: dial tcp 127\.0\.0\.1:\d+: /,
    );
    (await dialer.dial({ host, port: tlsPort, security: 'kubelet-unchecked', mayBeLocal: true }, 5000)).destroy();
  });

  it('aborts when there is no response, and reports the address', async () => {
    const clock = new FakeClock();
    const dialing = nodeDialer({ clock }).dial(
      { host, port: silentPort, security: 'tls-insecure', mayBeLocal: true },
      1000,
    );
    const refused = assert.rejects(dialing, { message: `dial tcp ${host}:${silentPort}: i/o timeout` });
    await clock.advance(1000);
    await refused;
    assert.equal(clock.armedTimers, 0);
    const closed = createTcpServer();
    const port = await listen(closed);
    closed.close();
    await assert.rejects(
      nodeDialer({ clock: systemClock }).dial({ host, port, security: 'none', mayBeLocal: true }, 1000),
      { message: `dial tcp ${host}:${port}: connect: connection refused` },
    );
    await assert.rejects(
      nodeDialer({ clock: systemClock }).dial({ host: 'nobody.invalid', port, security: 'none' }, 5000),
      /^Error: dial tcp: lookup nobody\.invalid: (no such host|server misbehaving)$/,
    );
  });

  it('refuses loopback and link-local addresses unless they are allowed, in any spelling', async () => {
    const spelled = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '::1',
      '0:0:0:0:0:0:0:1',
      '0:0:0:0:0:ffff:7f00:1',
      '0::ffff:a9fe:a9fe',
      '::ffff:127.0.0.1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
      '0.0.0.0',
      '169.254.169.254',
      'fe80::1%lo',
      '::127.0.0.1',
      '224.0.0.1',
    ];
    const dialer = nodeDialer({
      clock: systemClock,
      resolve: () => Promise.reject(new Error('no address is looked up')),
    });
    for (const each of spelled)
      await assert.rejects(
        dialer.dial({ host: each, port: silentPort, security: 'none' }, 1000),
        { message: 'address not allowed' },
        each,
      );
    for (const each of ['127.1', '0x7f000001', '::ffff:127.0.0.1', '0:0:0:0:0:ffff:7f00:1'])
      (await dialer.dial({ host: each, port: silentPort, security: 'none', mayBeLocal: true }, 1000)).destroy();
  });

  it('resolves a name once, and refuses it if the first address is loopback or link-local', async () => {
    const asked: string[] = [];
    const leadsTo = (...addresses: readonly string[]) =>
      nodeDialer({ clock: systemClock, resolve: (name) => (asked.push(name), Promise.resolve(addresses)) });
    for (const addresses of [
      ['127.0.0.1'],
      ['::1'],
      ['fe80::1%eth0'],
      ['10.255.255.1', '127.0.0.1'],
      ['169.254.169.254', '10.255.255.1'],
      ['::ffff:7f00:1'],
    ]) {
      for (const security of ['none', 'tls-insecure', 'kubelet'] as const)
        await assert.rejects(
          leadsTo(...addresses).dial({ host: 'node.example', port: silentPort, security }, 1000),
          { message: 'address not allowed' },
          addresses.join(' '),
        );
    }
    assert.deepEqual([asked.length, new Set(asked)], [18, new Set(['node.example'])]);
    asked.length = 0;
    // The second address is tried if the first does not accept the connection.
    (
      await leadsTo('127.0.0.2', '127.0.0.1').dial(
        { host: 'node.example', port: silentPort, security: 'none', mayBeLocal: true },
        1000,
      )
    ).destroy();
    assert.deepEqual(asked, ['node.example']);
    await assert.rejects(leadsTo().dial({ host: 'node.example', port: silentPort, security: 'none' }, 1000), {
      message: 'dial tcp: lookup node.example: no such host',
    });
  });

  it('resolves local names of the machine and checks their addresses', async () => {
    for (const name of ['localhost', 'LOCALHOST', 'localhost.'])
      await assert.rejects(
        nodeDialer({ clock: systemClock }).dial({ host: name, port: silentPort, security: 'none' }, 5000),
        /address not allowed|no such host|server misbehaving/,
        name,
      );
  });

  it('checks a certificate for the name, not for the address that the name leads to', async () => {
    const resolve = (): Promise<readonly string[]> => Promise.resolve(['127.0.0.1']);
    const names: (string | undefined)[] = [];
    const server = createTlsServer(
      { key: certificates.key, cert: certificates.cert, SNICallback: (name, done) => (names.push(name), done(null)) },
      (socket) => socket.on('error', () => undefined),
    );
    const port = await listen(server);
    const dialer = nodeDialer({ clock: systemClock, ...pair, resolve });
    (await dialer.dial({ host: 'node.example', port, security: 'kubelet', mayBeLocal: true }, 5000)).destroy();
    (await dialer.dial({ host: '127.1', port, security: 'kubelet', mayBeLocal: true }, 5000)).destroy();
    server.close();
    assert.deepEqual(names, ['node.example']);
  });

  it('limits the time of a name lookup', async () => {
    const clock = new FakeClock();
    const dialing = nodeDialer({ clock, resolve: () => new Promise(() => undefined) }).dial(
      { host: 'node.example', port: 1, security: 'none' },
      1000,
    );
    const refused = assert.rejects(dialing, { message: 'dial tcp: lookup node.example: i/o timeout' });
    await clock.advance(1000);
    await refused;
    assert.equal(clock.armedTimers, 0);
  });
});
