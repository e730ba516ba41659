import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { extendedUsages } from '../../../pki/certificate-template.ts';
import { writeCertificate } from '../../../pki/x509-writer.ts';
import type { ExtenderTls } from '../../scheduler/framework/extender.ts';
import { askExtender } from './ask-extender.ts';

const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const plain = async (answer: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await listen(createServer(answer))}/x`;

const ask = (
  url: string,
  {
    tls = { insecure: false },
    timeoutMs = 30_000,
    signal = new AbortController().signal,
  }: {
    readonly tls?: ExtenderTls;
    readonly timeoutMs?: number;
    readonly signal?: AbortSignal;
  } = {},
): Promise<unknown> => askExtender({ url, tls, body: ['{"a":', '"ä"}'], timeoutMs, signal });

describe('a question to an extender', () => {
  it('an extender request is one POST of the pieces, and its answer JSON', async () => {
    const url = await plain((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      request.on('end', () =>
        response.end(
          JSON.stringify([request.method, request.headers['content-type'], request.headers['content-length'], text]),
        ),
      );
    });
    assert.deepEqual(await ask(url), ['POST', 'application/json', '10', '{"a":"ä"}']);
  });

  it('fails with a status, with what is no JSON, with a redirect and with too much', async () => {
    const failing = async (answer: RequestListener): Promise<string> =>
      ask(await plain(answer)).then(
        () => 'nothing',
        (error: Error) => error.message,
      );
    assert.match(
      await failing((_, response) => response.writeHead(500).end('out of\norder')),
      /answered with status 500: out of order$/,
    );
    assert.match(await failing((_, response) => response.end('<html>')), /it is not JSON/);
    assert.match(
      await failing((_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()),
      /status 302/,
    );
    assert.match(
      await failing((_, response) => response.end(`"${'x'.repeat(11 << 20)}"`)),
      /is longer than 10485760 bytes; with nodeCacheCapable: true names are enough/,
    );
    const dense = `[${'[1],'.repeat(400_000)}1]`;
    assert.match(await failing((_, response) => response.end(dense)), /has more than 400000 values/);
    const deep = '['.repeat(600) + ']'.repeat(600);
    assert.match(await failing((_, response) => response.end(deep)), /is nested deeper than 500/);
    assert.equal(await failing((_, response) => response.end()), 'nothing', 'a bind may answer with nothing');
  });

  it('ends when its time is over, also in the middle of an answer, and when the scheduler stops', async () => {
    const silent = await plain(() => {});
    await assert.rejects(ask(silent, { timeoutMs: 50 }), /did not answer within 50 ms/);
    const dripping = await plain((_, response) => void response.write('{"no'));
    await assert.rejects(ask(dripping, { timeoutMs: 50 }), /did not answer within 50 ms/);
    const stopping = new AbortController();
    const asked = ask(silent, { signal: stopping.signal });
    stopping.abort();
    await assert.rejects(asked, /abort/);
    await assert.rejects(ask('http://127.0.0.1:1/x'), /ECONNREFUSED/);
  });

  it('checks the certificate by the authority, unless it is insecure', async () => {
    const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const nowMs = Date.now();
    const pem = writeCertificate(
      {
        ...{ subject: { commonName: 'extender' }, publicKey: createPublicKey(key), isAuthority: true },
        ...{ notBeforeMs: nowMs - 60_000, notAfterMs: nowMs + 86_400_000 },
        ...{ keyUsages: ['certSign', 'digitalSignature'], extendedKeyUsages: [extendedUsages.serverAuth] },
        altNames: { dnsNames: ['extender'], ipAddresses: [], emailAddresses: [], uris: [] },
      },
      { selfSignedBy: key },
    );
    const server = createSecureServer({ key: key.export({ type: 'pkcs8', format: 'pem' }), cert: pem }, (_, response) =>
      response.end('1'),
    );
    const url = `https://127.0.0.1:${await listen(server as unknown as Server)}/x`;
    await assert.rejects(ask(url), /self-signed certificate/);
    await assert.rejects(ask(url, { tls: { insecure: false, caPem: pem, serverName: 'other' } }), /Hostname|altnames/i);
    assert.equal(await ask(url, { tls: { insecure: false, caPem: pem, serverName: 'extender' } }), 1);
    assert.equal(await ask(url, { tls: { insecure: true } }), 1);
  });
});
