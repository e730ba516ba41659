import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { FakeSpdyPeer } from './testing/fake-spdy-peer.ts';
import { socketPair } from './testing/socket-pair.ts';
import { SpdySession } from './spdy-session.ts';
import type { SpdyStream } from './spdy-session.ts';

async function pair(
  run: (given: { session: SpdySession; peer: FakeSpdyPeer; client: Socket }) => Promise<void>,
): Promise<void> {
  const [client, server, close] = await socketPair();
  try {
    await run({
      session: new SpdySession(client, Buffer.alloc(0)),
      peer: new FakeSpdyPeer(server, Buffer.alloc(0)),
      client,
    });
  } finally {
    await close();
  }
}

const textOf = async (stream: SpdyStream): Promise<string> => {
  let text = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString('utf8');
  return text;
};

describe('a SPDY session', () => {
  it('opens streams with their headers, in both directions at once', () =>
    pair(async ({ session, peer }) => {
      const error = session.open({ streamType: 'error' });
      const data = session.open({ streamType: 'data', port: '80', requestID: '0' });
      data.write('ping');
      await peer.until(() => peer.streamOf('data')?.text === 'ping');
      assert.deepEqual(
        [...peer.streams.entries()].map(([id, { headers }]) => [id, headers]),
        [
          [1, { streamtype: 'error' }],
          [3, { streamtype: 'data', port: '80', requestid: '0' }],
        ],
      );
      peer.send('data', 'pong');
      peer.finish('data');
      peer.finish('error');
      assert.deepEqual([await textOf(data), await textOf(error), data.remote], ['pong', '', 'finished']);
    }));

  it('half-closes: an ended stream still receives', () =>
    pair(async ({ session, peer }) => {
      const stream = session.open({ streamType: 'stdin' });
      stream.end('last words');
      await peer.until(() => peer.streamOf('stdin')?.ended === 'fin');
      assert.equal(peer.streamOf('stdin')?.text, 'last words');
      peer.send('stdin', 'heard');
      peer.finish('stdin');
      assert.equal(await textOf(stream), 'heard');
      assert.equal(session.openStreams, 0);
    }));

  it('takes a reset for the end, and a lost connection for a loss', () =>
    pair(async ({ session, peer }) => {
      const [reset, lost] = [session.open({ streamType: 'a' }), session.open({ streamType: 'b' })];
      await peer.until(() => peer.streams.size === 2);
      peer.send('a', 'rest');
      peer.reset('a');
      assert.deepEqual([await textOf(reset), reset.remote], ['rest', 'reset']);
      peer.connection.destroy();
      assert.deepEqual([await textOf(lost), lost.remote, session.openStreams], ['', 'lost', 0]);
      assert.equal(session.open({ streamType: 'late' }).remote, 'lost');
    }));

  it('answers pings of the peer, and refuses streams that the peer opens', () =>
    pair(async ({ session, peer }) => {
      session.open({ streamType: 'error' });
      peer.ping(2);
      await peer.until(() => peer.pings.length > 0);
      assert.deepEqual(peer.pings, [2]);
    }));

  it('resets what is left before its end', () =>
    pair(async ({ session, peer }) => {
      const stream = session.open({ streamType: 'data' });
      await peer.until(() => peer.streams.size === 1);
      stream.destroy();
      await peer.until(() => peer.streamOf('data')?.ended === 'reset');
      assert.equal(session.openStreams, 0);
    }));

  it('reads no more than its reader does', () =>
    pair(async ({ session, peer, client }) => {
      const stream = session.open({ streamType: 'stdout' });
      await peer.until(() => peer.streams.size === 1);
      const total = 64 * 1024 * 1024;
      const piece = Buffer.alloc(256 * 1024, 'x');
      let sent = 0;
      const feed = async (): Promise<void> => {
        for (; sent < total; sent += piece.length)
          if (!peer.send('stdout', piece)) await once(peer.connection, 'drain');
        peer.finish('stdout');
      };
      stream.read(0);
      const feeding = feed();
      // The kernel's buffers fill and the peer must wait: of 64 MiB, only what fits into them was read.
      while (!client.isPaused()) await new Promise((resolve) => setImmediate(resolve));
      assert.ok(sent < total / 2, `${sent} bytes sent to a reader that reads nothing`);
      assert.ok(stream.readableLength < 1024 * 1024, `${stream.readableLength} bytes kept`);
      let received = 0;
      for await (const chunk of stream as AsyncIterable<Buffer>) received += chunk.length;
      await feeding;
      assert.equal(received, total);
    }));

  it('writes no faster than the peer reads', () =>
    pair(async ({ session, peer }) => {
      const stream = session.open({ streamType: 'stdin' });
      await peer.until(() => peer.streams.size === 1);
      peer.connection.pause();
      let accepted = 0;
      // The kernel's buffers fill; after that nothing more is written, even after a long wait.
      for (let turns = 0; turns < 500; turns++) {
        while (!stream.writableNeedDrain && accepted < 4096) {
          stream.write(Buffer.alloc(64 * 1024));
          accepted++;
          turns = 0;
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.ok(accepted < 1024, `${accepted} pieces of 64 KiB were taken for a peer that reads nothing`);
      peer.connection.resume();
      stream.end();
      await peer.until(() => peer.streamOf('stdin')?.ended === 'fin');
      assert.ok((peer.streamOf('stdin')?.bytes ?? 0) > 0);
    }));

  it('ends with a peer that speaks something else', () =>
    pair(async ({ session, peer }) => {
      const stream = session.open({ streamType: 'error' });
      peer.connection.write(Buffer.from([0xff, 0xff, 0, 0, 0, 0, 0, 0]));
      assert.deepEqual([await textOf(stream), stream.remote], ['', 'lost']);
    }));

  it('says goodbye when it is closed', () =>
    pair(async ({ session, peer, client }) => {
      session.open({ streamType: 'error' });
      await peer.until(() => peer.streams.size === 1);
      const closed = once(client, 'close');
      session.close();
      await peer.until(() => peer.isGone);
      await closed;
    }));

  it('takes streams that its peer opens, with their headers, as far as they are wanted', async () => {
    const [left, right, close] = await socketPair();
    try {
      const taken: SpdyStream[] = [];
      const types: string[] = [];
      const client = new SpdySession(left, Buffer.alloc(0));
      const server = new SpdySession(right, Buffer.alloc(0), (stream, headers) => {
        types.push(headers.get('streamtype') ?? '');
        taken.push(stream);
        stream.resume();
        return types.at(-1) !== 'other';
      });
      const [stdin, other] = [client.open({ streamType: 'stdin' }), client.open({ streamType: 'other' })];
      assert.deepEqual([await textOf(other), other.remote], ['', 'reset']);
      assert.deepEqual([types, server.openStreams], [['stdin', 'other'], 1]);
      stdin.end('typed');
      taken[0]?.end('answered');
      assert.deepEqual([await textOf(stdin), stdin.remote], ['answered', 'finished']);
      const many = Array.from({ length: 20 }, (_, index) => client.open({ streamType: `x${index}` }));
      await textOf(many.at(-1) as SpdyStream);
      assert.equal(server.openStreams, 16, 'no client of a command has so many open');
      assert.equal(types.length, 2 + 16);
      client.close();
      await new Promise<void>((resolve) => server.onClose(resolve));
      assert.equal(server.openStreams, 0);
    } finally {
      await close();
    }
  });
});
