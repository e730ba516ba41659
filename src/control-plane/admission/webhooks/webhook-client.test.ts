import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { endpointSlices, services } from '../../../api/client/resource-types.ts';
import { systemClock } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import { makeWebhookCertificate } from '../testing/webhook-certificate.ts';
import { WebhookClient } from './webhook-client.ts';

const metadata = { name: 'hook', namespace: 'tools', uid: '' };

describe('the client for webhooks, over real HTTPS', () => {
  const { key, cert } = makeWebhookCertificate(['DNS:hook.tools.svc', 'IP:127.0.0.1']);
  const caBundle = Buffer.from(cert).toString('base64');
  const reader = new FakeObjectReader();
  let server: Server;
  let port = 0;
  let connections = 0;
  const seen: { url: string; host: string; body: unknown }[] = [];
  let answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    response.end('{"ok":true}');
  const client = new WebhookClient({ reader, clock: systemClock, random: seededRandom(1) });

  before(async () => {
    server = createServer({ key, cert }, (request, response) => {
      const chunks: Buffer[] = [];
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          seen.push({
            url: request.url ?? '',
            host: request.headers.host ?? '',
            body: JSON.parse(Buffer.concat(chunks).toString()) as unknown,
          });
          answer(request, response);
        });
    });
    server.on('secureConnection', () => connections++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
    reader.put(services, { metadata, spec: { ports: [{ name: 'https', port: 443, targetPort: 'x' }] } });
    reader.put(endpointSlices, {
      metadata: { name: 'hook-1', namespace: 'tools', uid: '', labels: { 'kubernetes.io/service-name': 'hook' } },
      addressType: 'IPv4',
      endpoints: [
        { addresses: ['127.0.0.2'], conditions: { ready: false } },
        { addresses: ['127.0.0.1'], conditions: { ready: true } },
      ],
      ports: [{ name: 'https', port }],
    });
  });
  after(() => {
    client.close();
    server.closeAllConnections();
    server.close();
  });

  const url = (path = '/check') => `https://127.0.0.1:${port}${path}`;
  const failure = async (
    config: Parameters<WebhookClient['post']>[0],
    timeoutSeconds = 10,
    by = client,
  ): Promise<string> =>
    by.post(config, {}, timeoutSeconds).then(
      () => 'no failure',
      (error: Error) => error.message,
    );

  it('connects to a URL with the configured authority, and sends many requests on one connection', async () => {
    connections = 0;
    for (let i = 0; i < 5; i++) assert.deepEqual(await client.post({ url: url(), caBundle }, { i }, 10), { ok: true });
    assert.equal(connections, 1);
    assert.deepEqual(seen.at(-1), { url: '/check?timeout=10s', host: `127.0.0.1:${port}`, body: { i: 4 } });
  });

  it('connects to a ready address of a service, and verifies the name of the service', async () => {
    assert.deepEqual(
      await client.post({ service: { namespace: 'tools', name: 'hook', path: '/x', port: 443 }, caBundle }, {}, 5),
      { ok: true },
    );
    assert.deepEqual([seen.at(-1)?.url, seen.at(-1)?.host], ['/x?timeout=5s', 'hook.tools.svc:443']);
    const reason = (more: object) => failure({ service: { namespace: 'tools', name: 'hook', ...more }, caBundle });
    assert.equal(
      await reason({ name: 'none' }),
      'Post "https://none.tools.svc:443/?timeout=10s": service "none" not found',
    );
    assert.equal(
      await reason({ port: 80 }),
      'Post "https://hook.tools.svc:80/?timeout=10s": no service port 80 found for service "hook"',
    );
    reader.put(services, { metadata: { ...metadata, name: 'idle' }, spec: { ports: [{ port: 443 }] } });
    assert.equal(
      await reason({ name: 'idle' }),
      'Post "https://idle.tools.svc:443/?timeout=10s": no endpoints available for service "idle"',
    );
  });

  it('trusts no other server, and reports failures with well-known messages', async () => {
    assert.equal(
      await failure({ url: url() }),
      `Post "https://127.0.0.1:${port}/check?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority`,
    );
    const other = makeWebhookCertificate(['DNS:other']).cert;
    assert.match(
      await failure({ url: url(), caBundle: Buffer.from(other).toString('base64') }),
      /x509: certificate signed by unknown authority$/,
    );
    assert.equal(
      await failure({ url: 'https://127.0.0.1:1/', caBundle }),
      'Post "https://127.0.0.1:1/?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused',
    );
  });

  it('the webhook client does not accept an error page or a malformed body as an answer', async () => {
    const answers = async (code: number, body: string) => {
      answer = (_, response) => response.writeHead(code).end(body);
      return failure({ url: url(), caBundle });
    };
    assert.equal(await answers(404, 'x'), 'the server could not find the requested resource');
    assert.equal(
      await answers(500, 'oops\n'),
      'an error on the server ("oops") has prevented the request from succeeding',
    );
    assert.match(await answers(302, ''), /status code 302/);
    assert.match(await answers(200, 'oops'), /json parse error/);
    assert.match(await answers(200, `${'['.repeat(501)}${']'.repeat(501)}`), /json parse error: exceeded max depth/);
  });

  it('reads integers of 64 bits as they are', async () => {
    answer = (_, response) => response.end('{"n":9007199254740993}');
    assert.deepEqual(await client.post({ url: url(), caBundle }, {}, 10), { n: 9007199254740993n });
  });

  it('does not read the rest of an answer that is too long', async () => {
    const piece = Buffer.alloc(1 << 20, 0x20);
    let sent = 0;
    const closed = new Promise<void>((resolve) => {
      answer = (_, response) => {
        const more = (): void => {
          while (sent < 200 && response.write(piece)) sent++;
        };
        response.on('drain', more).on('close', resolve);
        more();
      };
    });
    assert.equal(await failure({ url: url(), caBundle }), `the answer is longer than ${16 << 20} bytes`);
    await closed;
    assert.ok(sent < 200, `${sent} pieces were sent`);
    answer = (_, response) => response.end(`[${'0,'.repeat(200_001)}0]`);
    assert.equal(await failure({ url: url(), caBundle }), 'the answer has more than 200000 values');
  });

  it('waits no longer than its timeout', async () => {
    const clock = new FakeClock();
    const patient = new WebhookClient({ reader, clock, random: seededRandom(1) });
    let asked: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => (asked = resolve));
    answer = () => asked();
    const failed = failure({ url: url(), caBundle }, 3, patient);
    await arrived;
    await clock.advance(3000);
    assert.equal(await failed, `Post "https://127.0.0.1:${port}/check?timeout=3s": context deadline exceeded`);
    patient.close();
  });

  it('retries when a kept-alive connection was just closed', async () => {
    answer = (_, response) => response.end('{}');
    await client.post({ url: url(), caBundle }, {}, 10);
    let drops = 1;
    answer = (request, response) => (drops-- > 0 ? request.socket.destroy() : response.end('{"again":true}'));
    assert.deepEqual(await client.post({ url: url(), caBundle }, {}, 10), { again: true });
  });
});
