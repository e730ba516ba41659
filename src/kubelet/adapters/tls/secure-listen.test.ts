import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import https from 'node:https';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { connect as tcpConnect } from 'node:net';
import { connect } from 'node:tls';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { after, describe, it } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { isKind } from '../../../base/errors.ts';
import { silentLogger } from '../../../base/log.ts';
import { extendedUsages, noNames } from '../../../pki/certificate-template.ts';
import { writeCertificate } from '../../../pki/x509-writer.ts';
import { listenSecurely } from './secure-listen.ts';
import type { SecureListening, SecureListenOptions, StreamRequest } from './secure-listen.ts';

const day = 86_400_000;

function pair(commonName: string): { certificate: string; key: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const nowMs = systemClock.nowMs();
  const template = {
    subject: { commonName },
    publicKey: createPublicKey(privateKey),
    notBeforeMs: nowMs - day,
    notAfterMs: nowMs + day,
    keyUsages: ['digitalSignature'] as const,
  };
  const certificate = writeCertificate(
    {
      ...template,
      extendedKeyUsages: [extendedUsages.serverAuth, extendedUsages.clientAuth],
      altNames: { ...noNames, ipAddresses: ['127.0.0.1'] },
    },
    { selfSignedBy: privateKey },
  );
  return { certificate, key: privateKey.export({ type: 'sec1', format: 'pem' }).toString() };
}

type Checked = Parameters<SecureListenOptions['guard']['check']>[0];

describe('the secure server', () => {
  const open: SecureListening[] = [];
  after(() => Promise.all(open.map((each) => each.close())));

  async function setUp(changes: Partial<SecureListenOptions> = {}) {
    const state = {
      identity: pair('first') as ReturnType<typeof pair> | undefined,
      checked: [] as Checked[],
      streams: [] as StreamRequest[],
      change: (): void => undefined,
    };
    const listening = await listenSecurely({
      host: '127.0.0.1',
      port: 0,
      tls: { cipherSuites: [], minVersion: '', curvePreferences: [] },
      identity: () => state.identity,
      clientAuthorities: () => undefined,
      onChange: (listener) => {
        state.change = listener;
        return () => undefined;
      },
      guard: {
        check: (request) => {
          state.checked.push(request);
          return Promise.resolve(
            request.authorization === 'Bearer yes'
              ? { outcome: 'allowed', user: { name: 'jane', groups: [] } }
              : { outcome: 'refused', status: 403, body: 'Forbidden (x)\n' },
          );
        },
      },
      fetch: (request) => new Response(`served ${new URL(request.url).pathname}`),
      openStream: (stream) => {
        state.streams.push(stream);
        stream.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nraw');
      },
      clock: systemClock,
      log: silentLogger,
      ...changes,
    });
    open.push(listening);
    const ask = (
      path: string,
      options: RequestOptions = {},
    ): Promise<{ status: number | undefined; body: string; subject: string }> =>
      new Promise((resolve, reject) => {
        const request = https.request(
          {
            host: '127.0.0.1',
            port: listening.port,
            path,
            rejectUnauthorized: false,
            agent: false,
            headers: { authorization: 'Bearer yes' },
            ...options,
          },
          (response: IncomingMessage) => {
            const subject = (response.socket as TLSSocket).getPeerX509Certificate()?.subject ?? '';
            let body = '';
            response
              .setEncoding('utf8')
              .on('data', (chunk: string) => (body += chunk))
              .on('end', () => resolve({ status: response.statusCode, body, subject }));
          },
        );
        request.on('error', reject).end();
      });
    return { state, listening, ask };
  }

  /** The response to raw bytes, until the other side closes. */
  const raw = (port: number, text: string, options: ConnectionOptions = {}): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () =>
        socket.write(text),
      );
      let answer = '';
      socket
        .setEncoding('utf8')
        .on('data', (chunk: string) => (answer += chunk))
        .on('close', () => resolve(answer))
        .on('error', reject);
    });

  it('serves what the guard allows, and answers the rest with its response', async () => {
    const { ask, state } = await setUp();
    assert.deepEqual(await ask('/pods?x=1'), { status: 200, body: 'served /pods', subject: 'CN=first' });
    const { status, body } = await ask('/pods', { headers: {}, method: 'POST' });
    assert.deepEqual([status, body], [403, 'Forbidden (x)\n']);
    assert.deepEqual(
      state.checked.map(({ method, path, isUpgrade }) => [method, path, isUpgrade]),
      [
        ['GET', '/pods', false],
        ['POST', '/pods', false],
      ],
    );
  });

  it('passes the client’s certificate to the guard, whichever CA issued it', async () => {
    const { ask, state } = await setUp();
    const client = pair('jane');
    assert.equal((await ask('/pods', { cert: client.certificate, key: client.key } as RequestOptions)).status, 200);
    await ask('/pods');
    assert.deepEqual(
      state.checked.map(({ clientCertificate }) =>
        clientCertificate === undefined ? undefined : new X509Certificate(clientCertificate).subject,
      ),
      ['CN=jane', undefined],
    );
  });

  it('authorizes the path that is served, and rejects an ambiguous one', async () => {
    const { listening, state } = await setUp();
    for (const path of [
      '/metrics/../exec/ns/p/c',
      '/metrics/%2e%2e/exec/ns/p/c',
      '//exec/ns/p/c',
      '/metrics%2f..%2fexec',
      '/a\\b',
      '/./x',
      'http://other/exec/ns/p/c',
      '*',
      '/%zz',
      '/a%00',
    ]) {
      assert.match(
        await raw(
          listening.port,
          `GET ${path} HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer yes\r\nConnection: close\r\n\r\n`,
        ),
        /^HTTP\/1.1 400 /,
        path,
      );
    }
    assert.equal(state.checked.length, 0);
    await raw(
      listening.port,
      'GET /%65xec/ns/p%20x/c HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer yes\r\nConnection: close\r\n\r\n',
    );
    assert.deepEqual(
      state.checked.map(({ path }) => path),
      ['/exec/ns/p x/c'],
    );
  });

  const upgrade = (path: string, authorization: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: n\r\nAuthorization: ${authorization}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`;

  it('opens a raw connection for authorized users, with their identity', async () => {
    const { listening, state } = await setUp();
    assert.match(
      await raw(listening.port, upgrade('/exec/ns/p/c?command=ls', 'Bearer yes')),
      /^HTTP\/1.1 101 [\s\S]*raw$/,
    );
    assert.deepEqual(
      [state.checked[0]?.isUpgrade, state.streams[0]?.path, state.streams[0]?.user.name, state.streams[0]?.request.url],
      [true, '/exec/ns/p/c', 'jane', '/exec/ns/p/c?command=ls'],
    );
  });

  it('ends the connection of a rejected upgrade: nothing that follows is read (CVE-2018-1002105)', async () => {
    const { listening, state } = await setUp();
    const answer = await raw(
      listening.port,
      upgrade('/exec/ns/p/c', 'Bearer no') + 'GET /pods HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer yes\r\n\r\n',
    );
    assert.match(answer, /^HTTP\/1.1 403 Forbidden\r\n[\s\S]*Connection: close\r\n\r\nForbidden \(x\)\n$/);
    assert.deepEqual([state.checked.length, state.streams.length], [1, 0]);
  });

  it('treats an upgrade of a non-streaming path as a plain request', async () => {
    const { listening, state } = await setUp();
    assert.match(
      await raw(
        listening.port,
        upgrade('/metrics', 'Bearer yes').replace('Connection: Upgrade', 'Connection: Upgrade, close'),
      ),
      /served \/metrics/,
    );
    assert.deepEqual([state.checked[0]?.isUpgrade, state.streams.length], [false, 0]);
  });

  it('serves a new certificate from the next connection on', async () => {
    const { ask, state } = await setUp();
    assert.equal((await ask('/pods')).subject, 'CN=first');
    state.identity = pair('second');
    state.change();
    assert.equal((await ask('/pods')).subject, 'CN=second');
    state.identity = { certificate: 'no certificate', key: 'no key' };
    state.change();
    assert.equal((await ask('/pods')).subject, 'CN=second', 'what cannot be used changes nothing');
  });

  it('completes no TLS handshake while it has no certificate, and does as soon as it has one', async () => {
    const { ask, state } = await setUp({ identity: () => undefined });
    await assert.rejects(ask('/pods'));
    const late = await setUp();
    assert.equal((await late.ask('/pods')).status, 200);
    assert.equal(state.checked.length, 0);
  });

  it('requests no certificate without a client CA', async () => {
    const { ask, state } = await setUp({ clientAuthorities: undefined });
    const client = pair('jane');
    await ask('/pods', { cert: client.certificate, key: client.key } as RequestOptions);
    assert.equal(state.checked[0]?.clientCertificate, undefined);
  });

  it('accepts only TLS 1.2 with strong suites and TLS 1.3 by default', async () => {
    const { ask } = await setUp();
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
      assert.equal((await ask('/pods', { maxVersion } as RequestOptions)).status, 200);
    await assert.rejects(
      ask('/pods', { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' } as RequestOptions),
    );
    await assert.rejects(ask('/pods', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' } as RequestOptions));
    const strict = await setUp({
      tls: {
        cipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'],
        minVersion: 'VersionTLS12',
        curvePreferences: [24],
      },
    });
    assert.equal((await strict.ask('/pods', { maxVersion: 'TLSv1.2' } as RequestOptions)).status, 200);
    await assert.rejects(
      strict.ask('/pods', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' } as RequestOptions),
    );
    await assert.rejects(strict.ask('/pods', { ecdhCurve: 'P-256' } as RequestOptions));
    const newest = await setUp({ tls: { cipherSuites: [], minVersion: 'VersionTLS13', curvePreferences: [] } });
    await assert.rejects(newest.ask('/pods', { maxVersion: 'TLSv1.2' } as RequestOptions));
  });

  it('survives clients of other protocols, and reports that a port is taken', async () => {
    const { listening, ask } = await setUp();
    await new Promise<void>((resolve) => {
      const socket = tcpConnect(listening.port, '127.0.0.1', () => socket.end('GET / HTTP/1.1\r\n\r\n'));
      socket.on('error', () => undefined).on('close', () => resolve());
    });
    assert.match(await raw(listening.port, 'nonsense\r\n\r\n'), /^HTTP\/1.1 400 /);
    assert.equal((await ask('/pods')).status, 200);
    await assert.rejects(setUp({ port: listening.port }), (error) => isKind(error, 'AlreadyExists'));
  });
});
