import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { joinConnections } from './join-connections.ts';

describe('two joined connections', () => {
  const server = createServer({ allowHalfOpen: true });
  const clock = new FakeClock();
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => server.close());

  async function pair(): Promise<{ own: Socket; peer: Socket }> {
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const peer = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [own] = await accepted;
    return { own, peer };
  }

  async function joined(): Promise<{ client: Socket; other: Socket; own: readonly Socket[] }> {
    const [left, right] = [await pair(), await pair()];
    joinConnections(left.own, right.own, { clock, idleMs: 0 });
    return { client: left.peer, other: right.peer, own: [left.own, right.own] };
  }

  it('give a slow peer the rest of one that is gone, also if the peer sends something after the end', async () => {
    const { client, other, own } = await joined();
    client.pause();
    // More than the client's kernel buffers while nothing is read; the rest waits in the kernel of the other end.
    other.end(Buffer.alloc(500_000));
    await once(own[0] as Socket, 'finish');
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => client.write('late', resolve));
    let bytes = 0;
    client.on('data', (chunk: Buffer) => (bytes += chunk.length));
    client.resume();
    await once(client, 'end');
    assert.equal(bytes, 500_000);
    client.end();
    await Promise.all(own.map((each) => each.destroyed || once(each, 'close')));
  });

  it('are closed when a peer does not close its side in time', async () => {
    const { client, other, own } = await joined();
    client.on('error', () => undefined);
    client.allowHalfOpen = true;
    other.end('x');
    await once(client, 'data');
    await once(own[0] as Socket, 'finish');
    assert.equal(own[0]?.destroyed, false);
    await clock.advance(30_000);
    assert.deepEqual(
      own.map(({ destroyed }) => destroyed),
      [true, true],
    );
    client.destroy();
  });
});
