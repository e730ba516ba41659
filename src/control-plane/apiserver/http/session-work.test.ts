import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { test } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { silentLogger } from '../../../base/log.ts';
import { makeTestCertificates } from '../testing/test-certificates.ts';
import { textReply } from './reply.ts';
import { HttpServer } from './server.ts';

test('a client that resets its streams at once cannot exceed the limit of concurrent requests, and is disconnected in the end', async () => {
  const { key, cert } = makeTestCertificates();
  let running = 0;
  let most = 0;
  const gate = Promise.withResolvers<void>();
  const server = new HttpServer({
    tls: { key, cert },
    clock: systemClock,
    log: silentLogger,
    maxConnections: 10,
    gzipFromBytes: 1024,
    unreadBytesPerConnection: 1024 * 1024,
    serve: async () => {
      most = Math.max(most, ++running);
      await gate.promise;
      running--;
      return textReply(200, 'ok');
    },
  });
  const { port } = await server.listen('127.0.0.1', 0);
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  session.on('error', () => undefined);
  await once(session, 'connect');
  const closed = once(session, 'close');
  while (!session.destroyed && !session.closed) {
    const stream = session.request({ ':path': '/' });
    stream.on('error', () => undefined);
    stream.close(8);
    // Each stream takes a turn of the event loop, so that its frames are sent and the server's response is received.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  assert.ok(most <= 100, `at most 100 at once, not ${most}`);
  gate.resolve();
  await server.close();
});
