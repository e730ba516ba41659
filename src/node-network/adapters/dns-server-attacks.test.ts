// The name service on loopback, attacked by its clients.

import assert from 'node:assert/strict';
import type { Socket as UdpSocket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import type { Answer } from 'dns-packet';
import { decode, encode } from 'dns-packet';
import fc from 'fast-check';
import { TcpFrames, tcpFrame } from './dns-frames.ts';

import {
  open,
  closeAll,
  address,
  dataOf,
  extension,
  forwarderTo,
  honest,
  nameService,
  question,
  rcodeOf,
  serve,
  upstream,
} from './testing/dns-fixture.ts';
import type { Asked } from './testing/dns-fixture.ts';

describe('messages of a client', () => {
  afterEach(closeAll);

  it('is not handed on as it is: the name server sees the question and the offered size, and nothing else', async () => {
    const seen: Buffer[] = [];
    const { port } = await upstream(({ message, reply }) => {
      seen.push(message);
      reply(honest(message));
    });
    const cookie = { ...extension(4096), options: [{ code: 10, data: Buffer.alloc(8, 1) }] } as unknown as Answer;
    const noisy = Buffer.concat([
      question('example.org', { flags: 0x0100 | 0x0040, additionals: [cookie] }),
      Buffer.alloc(300, 0x41),
    ]);
    await nameService(forwarderTo(port))(noisy, 'udp');
    const [message = Buffer.alloc(12)] = seen;
    message.writeUInt16BE(7, 0);
    assert.deepEqual(message, question('example.org', { additionals: [extension(1232)] }));
  });

  const odd: readonly [what: string, message: Buffer][] = [
    [
      'two questions',
      encode({
        type: 'query',
        id: 7,
        questions: [
          { name: 'a.example', type: 'A' },
          { name: 'b.example', type: 'A' },
        ],
      }),
    ],
    ['an answer with the question', question('example.org', { answers: [address()] })],
    ['an authority with the question', question('example.org', { authorities: [address()] })],
    ['a crowd of additions', question('example.org', { additionals: Array.from({ length: 200 }, () => address()) })],
    [
      'a label with a dot in it, which reads like another name',
      Buffer.concat([
        question('x').subarray(0, 12),
        Buffer.from('\u000bexample.org\u0000\u0000\u0001\u0000\u0001', 'latin1'),
      ]),
    ],
    [
      'a label that is no text',
      Buffer.concat([
        question('x').subarray(0, 12),
        Buffer.from('\u0003\u00ff\u00fe\u0080\u0000\u0000\u0001\u0000\u0001', 'latin1'),
      ]),
    ],
    ['a name that leads to itself', Buffer.concat([question('x').subarray(0, 12), Buffer.from('c00c00010001', 'hex')])],
    [
      'a name that leads into the head',
      Buffer.concat([question('x').subarray(0, 12), Buffer.from('c00400010001', 'hex')]),
    ],
    ['more than any question needs', Buffer.concat([question(), Buffer.alloc(5000)])],
  ];
  for (const [what, message] of odd) {
    it(`is rejected and not forwarded: ${what}`, async () => {
      let asked = 0;
      const service = nameService({ ask: async () => ((asked += 1), Buffer.alloc(12)), isOwn: () => false });
      const answer = (await service(message, 'tcp')) ?? Buffer.alloc(0);
      assert.deepEqual([asked, rcodeOf(decode(answer)), decode(answer).id], [0, 'FORMERR', 7]);
      assert.ok(answer.length <= message.length, 'no more is sent than came');
    });
  }

  it('never makes more of a byte over UDP than the size that was offered', async () => {
    const { port } = await upstream(({ message, reply }) =>
      reply(honest(message, { answers: Array.from({ length: 60 }, (_, index) => address(`192.0.2.${index}`)) })),
    );
    const server = await serve(nameService(forwarderTo(port)));
    const client = createSocket('udp4');
    open.push(client);
    client.send(question(), server.port, '127.0.0.1');
    const [answer] = (await once(client, 'message')) as [Buffer];
    assert.ok(answer.length <= 512, `${answer.length} bytes`);
  });

  it('a response sent as a query gets no response, so that two servers cannot be made to answer each other', async () => {
    const service = nameService({ ask: () => Promise.reject(new Error('no')), isOwn: () => false });
    for (const message of [honest(question()), encode({ type: 'response', id: 1, flags: 1 }), Buffer.alloc(11)])
      assert.equal(await service(message, 'udp'), undefined);
  });
});

/** Resolves when the connection has ended, in order or by a reset; `once` would reject for a reset. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => void socket.once('close', () => resolve()));

describe('a greedy client', () => {
  afterEach(closeAll);

  it('with queries that get no response leaves room for others', async () => {
    const held: Asked[] = [];
    const { port } = await upstream((asked) => held.push(asked));
    const server = await serve(nameService(forwarderTo(port, { timeoutMs: 2000, limit: 20 })), {
      maxUnderWayPerClient: 10,
    });
    const [greedy, other] = (await Promise.all(
      ['127.0.0.2', '127.0.0.3'].map(async (local) => {
        const socket = createSocket('udp4').bind(0, local);
        open.push(socket);
        await once(socket, 'listening');
        return socket;
      }),
    )) as [UdpSocket, UdpSocket];
    for (let turn = 0; turn < 40; turn += 1) greedy.send(question(`n${turn}.example.org`), server.port, '127.0.0.1');
    other.send(question('other.example.org'), server.port, '127.0.0.1');
    const isOther = ({ message }: Asked): boolean => decode(message).questions?.[0]?.name === 'other.example.org';
    while (!held.some(isOther)) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(held.length <= 11, `${held.length} under way`);
    const asked = held.find(isOther);
    asked?.reply(honest(asked.message));
    const [answer] = (await once(other, 'message')) as [Buffer];
    assert.deepEqual(dataOf(decode(answer)), ['192.0.2.77']);
  });

  it('with connections leaves some for others', async () => {
    const server = await serve(nameService({ ask: async (message) => honest(message), isOwn: () => false }), {
      maxConnections: 12,
      maxConnectionsPerClient: 8,
    });
    const greedy = Array.from({ length: 20 }, () =>
      connect({ port: server.port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => undefined),
    );
    open.push({ close: () => greedy.forEach((socket) => socket.destroy()) });
    await Promise.all(greedy.slice(8).map(closed));
    const other = connect({ port: server.port, host: '127.0.0.1', localAddress: '127.0.0.3' });
    open.push({ close: () => other.destroy() });
    other.write(tcpFrame(question()));
    const answer = await new Promise<Buffer>((resolve) => {
      const frames = new TcpFrames(resolve);
      other.on('data', (chunk: Buffer) => frames.push(chunk));
    });
    assert.deepEqual(dataOf(decode(answer)), ['192.0.2.77']);
  });

  it('that sends queries over TCP and reads no responses is throttled and disconnected', async () => {
    let asked = 0;
    const long = (message: Buffer): Buffer =>
      honest(message, { answers: Array.from({ length: 1500 }, (_, index) => address(`192.0.2.${index % 250}`)) });
    const server = await serve(
      nameService({ ask: async (message) => ((asked += 1), long(message)), isOwn: () => false }),
      { idleMs: 300, maxConnections: 1, maxConnectionsPerClient: 1 },
    );
    const client = connect({ port: server.port, host: '127.0.0.1' }).on('error', () => undefined);
    open.push({ close: () => client.destroy() });
    client.pause();
    client.write(Buffer.concat(Array.from({ length: 5000 }, () => tcpFrame(question()))));
    // When it has ended, another connection is accepted.
    const isLetIn = async (): Promise<boolean> => {
      const other = connect({ port: server.port, host: '127.0.0.1' }).on('error', () => undefined);
      other.write(tcpFrame(question()));
      const answered = await Promise.race([
        once(other, 'data').then(
          () => true,
          () => false,
        ),
        once(other, 'close').then(
          () => false,
          () => false,
        ),
      ]);
      other.destroy();
      return answered;
    };
    while (!(await isLetIn())) await new Promise((resolve) => setImmediate(resolve));
    // 5000 responses are 200 MB; the kernel's buffers hold a few hundred of them.
    assert.ok(asked < 1000, `${asked} answers for a client that reads none`);
  });

  it('that sends a message byte by byte for ever is ended', async () => {
    const server = await serve(nameService({ ask: async (message) => honest(message), isOwn: () => false }), {
      idleMs: 200,
    });
    const client = connect({ port: server.port, host: '127.0.0.1', noDelay: true }).on('error', () => undefined);
    const drip = setInterval(() => client.write(Buffer.of(1)), 5);
    open.push({ close: () => (clearInterval(drip), client.destroy()) });
    client.write(Buffer.of(0x0f, 0xff));
    await closed(client);
    clearInterval(drip);
  });

  it('that announces more than any question needs is ended before it sends it', async () => {
    const server = await serve(nameService({ ask: async (message) => honest(message), isOwn: () => false }));
    const client = connect({ port: server.port, host: '127.0.0.1' }).on('error', () => undefined);
    open.push({ close: () => client.destroy() });
    client.resume();
    client.write(Buffer.of(0xff, 0xff));
    await closed(client);
  });

  it('a message is whole however it is cut', () => {
    const messages = [Buffer.alloc(0), Buffer.from('a'), Buffer.alloc(1000, 7), Buffer.from('end')];
    const stream = Buffer.concat(messages.map(tcpFrame));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }), (sizes) => {
        const seen: Buffer[] = [];
        const frames = new TcpFrames((message) => seen.push(Buffer.from(message)));
        for (let at = 0, turn = 0; at < stream.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          frames.push(stream.subarray(at, at + size));
          at += size;
        }
        assert.deepEqual(seen, messages);
      }),
    );
  });
});
