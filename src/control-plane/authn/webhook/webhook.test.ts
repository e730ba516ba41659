import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import { noNames } from '../../../pki/certificate-template.ts';
import { privateKeyPem } from '../../../pki/pem.ts';
import { writeCertificate } from '../../../pki/x509-writer.ts';
import { askJson } from './http-json.ts';
import { createTokenWebhook } from './token-webhook.ts';
import { readWebhookKubeconfig } from './webhook-kubeconfig.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'webhook-'));
const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true });
});

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const certificate = writeCertificate(
  {
    subject: { commonName: 'hook' },
    publicKey: createPublicKey(privateKey),
    notBeforeMs: Date.now() - 60_000,
    notAfterMs: Date.now() + 3_600_000,
    isAuthority: true,
    keyUsages: ['digitalSignature', 'certSign'],
    extendedKeyUsages: [],
    altNames: { ...noNames, ipAddresses: ['127.0.0.1'] },
  },
  { selfSignedBy: privateKey },
);

async function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  isTls = true,
): Promise<string> {
  const server = isTls
    ? createServer({ cert: certificate, key: privateKeyPem(privateKey) }, handle)
    : createHttpServer(handle);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `${isTls ? 'https' : 'http'}://127.0.0.1:${(server.address() as { port: number }).port}/check`;
}

describe('JSON over HTTP', () => {
  it('calls only a server with a valid certificate', async () => {
    const url = await serve((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () =>
        response.end(JSON.stringify({ method: request.method, authorization: request.headers.authorization, text })),
      );
    });
    assert.deepEqual(await askJson({ url, ca: certificate, bearerToken: 'abc', timeoutMs: 5000 }, { a: 1 }), {
      status: 200,
      body: { method: 'POST', authorization: 'Bearer abc', text: '{"a":1}' },
    });
    assert.deepEqual((await askJson({ url, ca: certificate, timeoutMs: 5000 })).body, { method: 'GET', text: '' });
    await assert.rejects(askJson({ url, timeoutMs: 5000 }), (error) => errorKind(error) === 'Unavailable');
  });

  it('follows no redirects, and limits time and size', async () => {
    const moved = await serve(
      (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end('moved'),
      false,
    );
    assert.deepEqual(await askJson({ url: moved, timeoutMs: 5000 }), { status: 302, body: 'moved' });
    const endless = await serve((_request, response) => {
      response.write('[');
      const more = (): void => {
        while (!response.destroyed && response.write('1,'.repeat(500_000)));
      };
      response.on('drain', more);
      more();
    }, false);
    await assert.rejects(askJson({ url: endless, timeoutMs: 10_000 }), (error) => errorKind(error) === 'Invalid');
    const silent = await serve(() => {}, false);
    await assert.rejects(askJson({ url: silent, timeoutMs: 50 }), (error) => errorKind(error) === 'Timeout');
    const rubbish = await serve((_request, response) => response.end('no json'), false);
    await assert.rejects(askJson({ url: rubbish, timeoutMs: 5000 }), (error) => errorKind(error) === 'Invalid');
    await assert.rejects(
      askJson({ url: 'http://127.0.0.1:1/', timeoutMs: 5000 }),
      (error) => errorKind(error) === 'Unavailable',
    );
  });
});

describe('the token webhook', () => {
  const answering = (status: object, code = 200) =>
    createTokenWebhook(() => Promise.resolve({ status: code, body: { status } }), ['api']);
  const user = { username: 'jane', uid: '7', groups: ['devs'], extra: { scopes: ['a'] } };

  it('authenticates the users that its service knows', async () => {
    assert.deepEqual(await answering({ authenticated: true, user }).authenticateToken('abc'), {
      outcome: 'user',
      user: { name: 'jane', uid: '7', groups: ['devs'], extra: { scopes: ['a'] } },
    });
    assert.deepEqual(await answering({ authenticated: false }).authenticateToken('abc'), { outcome: 'none' });
    assert.deepEqual(await answering({ authenticated: false, error: 'expired' }).authenticateToken('abc'), {
      outcome: 'failed',
      error: 'expired',
    });
    assert.deepEqual(await answering({}, 500).authenticateToken('abc'), {
      outcome: 'failed',
      error: 'the token webhook answered 500',
    });
    assert.deepEqual(await answering({ authenticated: true, user: {} }).authenticateToken('abc'), {
      outcome: 'failed',
      error: 'the token webhook answered without a user name',
    });
    assert.deepEqual(await createTokenWebhook(() => Promise.reject(new Error('down')), []).authenticateToken('abc'), {
      outcome: 'failed',
      error: 'down',
    });
  });

  it("treats an answer without audiences as one for the API server's own", async () => {
    const asked = async (status: object, audiences: string[]): Promise<unknown> => {
      const result = await answering({ authenticated: true, user, ...status }).authenticateToken('abc', audiences);
      return result.outcome === 'user' ? result.audiences : result.outcome;
    };
    assert.deepEqual(await asked({}, ['api', 'x']), ['api']);
    assert.equal(await asked({}, ['vault']), 'none');
    assert.deepEqual(await asked({ audiences: ['vault'] }, ['vault', 'api']), ['vault']);
  });
});

describe('a webhook’s kubeconfig', () => {
  const write = (text: string): string => {
    const file = path.join(folder, 'hook.conf');
    writeFileSync(file, text);
    return file;
  };
  const good = [
    'clusters:',
    '- name: c',
    '  cluster: {server: "https://h/x", certificate-authority: ca.pem}',
    'users:',
    '- name: u',
    '  user: {token: abc}',
    'contexts:',
    '- name: x',
    '  context: {cluster: c, user: u}',
    'current-context: x',
  ];

  it('names the address and the credentials', () => {
    writeFileSync(path.join(folder, 'ca.pem'), 'CA');
    assert.deepEqual(readWebhookKubeconfig(write(good.join('\n'))), {
      url: 'https://h/x',
      ca: 'CA',
      bearerToken: 'abc',
    });
  });

  it('is refused when it cannot work', () => {
    const fails = (text: string, pattern: RegExp): void =>
      assert.throws(() => readWebhookKubeconfig(write(text)), pattern);
    fails('{', /hook\.conf/);
    fails('a: 1', /contexts are missing/);
    fails(good.join('\n').replace('current-context: x', 'current-context: y'), /there is no context "y"/);
    fails(good.join('\n').replace('cluster: c,', 'cluster: d,'), /there is no cluster "d"/);
    fails(good.join('\n').replace('https://h/x', 'ftp://h'), /server must be an http or https URL/);
    fails(
      good.join('\n').replace('certificate-authority: ca.pem', 'insecure-skip-tls-verify: true'),
      /insecure-skip-tls-verify is not supported/,
    );
  });
});
