// The name service on loopback, attacked by the name servers that it queries.

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import type { Packet } from 'dns-packet';
import { decode, encode } from 'dns-packet';
import type { NameService } from '../dns/name-service.ts';
import { service as serviceOf } from '../service-routing/testing/service-builders.ts';
import { TcpFrames, tcpFrame } from './dns-frames.ts';

import {
  open,
  closeAll,
  address,
  dataOf,
  emptyView,
  extension,
  forwarderTo,
  honest,
  nameService,
  outcome,
  question,
  rcodeOf,
  serve,
  upstream,
} from './testing/dns-fixture.ts';

describe('an answer that is not that of the name server', () => {
  afterEach(closeAll);

  const forgeries: readonly [what: string, forge: (message: Buffer) => Buffer][] = [
    [
      'another number',
      (message) =>
        encode({
          ...decode(honest(message, { answers: [address('203.0.113.66')] })),
          id: (message.readUInt16BE(0) + 1) & 0xffff,
        } as Packet),
    ],
    [
      'another question',
      (message) =>
        honest(message, { questions: [{ name: 'example.net', type: 'A' }], answers: [address('203.0.113.66')] }),
    ],
    [
      'another type',
      (message) =>
        honest(message, { questions: [{ name: 'example.org', type: 'TXT' }], answers: [address('203.0.113.66')] }),
    ],
    [
      'another question, and cut short',
      (message) =>
        honest(message, {
          flags: 0x0200,
          questions: [{ name: 'example.net', type: 'A' }],
          answers: [address('203.0.113.66')],
        }),
    ],
    [
      'no answer at all, and cut short',
      (message) => honest(message, { type: 'query', flags: 0x0200, answers: [address('203.0.113.66')] }),
    ],
    [
      'a refusal of nothing',
      (message) => encode({ type: 'response', id: message.readUInt16BE(0), flags: 3, questions: [] }),
    ],
    ['a head alone', (message) => honest(message).subarray(0, 11)],
  ];
  for (const [what, forge] of forgeries) {
    it(`is ignored: ${what}`, async () => {
      const { port } = await upstream(({ message, reply }) => {
        reply(forge(message));
        reply(honest(message));
      });
      assert.deepEqual(await outcome(port), ['192.0.2.77']);
    });
  }

  it('is ignored: correct in everything but its source', async () => {
    const forger = createSocket('udp4').bind(0, '127.0.0.1');
    await once(forger, 'listening');
    open.push(forger);
    const { port } = await upstream(({ message, from, reply }) => {
      forger.send(honest(message, { answers: [address('203.0.113.66')] }), from.port, from.address, () =>
        reply(honest(message)),
      );
    });
    assert.deepEqual(await outcome(port), ['192.0.2.77']);
  });

  it('has to guess a number and a port that are new for every question', async () => {
    const seen: { id: number; port: number }[] = [];
    const { port } = await upstream(({ message, from, reply }) => {
      seen.push({ id: message.readUInt16BE(0), port: from.port });
      reply(honest(message));
    });
    for (let turn = 0; turn < 200; turn += 1) await outcome(port);
    const distinct = (list: readonly number[]): number => new Set(list).size;
    // Of 65536 random numbers, 200 rarely collide; of 28000 ports, a few do.
    assert.ok(distinct(seen.map(({ id }) => id)) > 190, 'numbers');
    assert.ok(distinct(seen.map((each) => each.port)) > 150, 'ports');
    const steps = seen.slice(1).map(({ id }, index) => id - (seen[index]?.id ?? 0));
    assert.ok(distinct(steps) > 150, 'numbers do not go up in steps');
  });
});

describe('a malicious DNS response', () => {
  afterEach(closeAll);

  const header = (message: Buffer, answers: number): Buffer => {
    const bytes = Buffer.from(honest(message, { answers: [] }));
    bytes.writeUInt16BE(answers, 6);
    return bytes;
  };
  const harmful: readonly [what: string, make: (message: Buffer) => Buffer][] = [
    [
      'names that lead in a circle',
      (message) =>
        Buffer.concat([
          header(message, 1),
          Buffer.from([0xc0, header(message, 1).length]),
          Buffer.from('0001000100000005000401020304', 'hex'),
        ]),
    ],
    ['more records than bytes', (message) => header(message, 65_535)],
    [
      'a record longer than the message',
      (message) => Buffer.concat([header(message, 1), Buffer.from('c00c00010001000000050fff01020304', 'hex')]),
    ],
    [
      'a name that leads forward',
      (message) =>
        Buffer.concat([
          header(message, 1),
          Buffer.from([0xc0, header(message, 1).length + 16]),
          Buffer.from('00010001000000050004010203040161000000', 'hex'),
        ]),
    ],
    [
      'a name that leads into the head',
      (message) => Buffer.concat([header(message, 1), Buffer.from('c0020001000100000005000401020304', 'hex')]),
    ],
    [
      'a name of more than 255 bytes',
      (message) =>
        Buffer.concat([
          header(message, 1),
          ...Array.from({ length: 6 }, () => Buffer.from(`\u003f${'a'.repeat(63)}`)),
          Buffer.from('0000010001000000050004010203 04'.replace(' ', ''), 'hex'),
        ]),
    ],
    ['a name without an end', (message) => Buffer.concat([header(message, 1), Buffer.alloc(60, 0x3f)])],
  ];
  for (const [what, make] of harmful) {
    it(`is not passed on: ${what}`, async () => {
      const { port } = await upstream(({ message, reply }) => reply(make(message)));
      assert.equal(await outcome(port), 'SERVFAIL');
    });
  }

  it('is no longer than the client takes', async () => {
    const many = Array.from({ length: 40 }, (_, index) => address(`192.0.2.${index}`));
    const { port } = await upstream(({ message, reply }) => reply(honest(message, { answers: many })));
    const service = nameService(forwarderTo(port));
    for (const [message, limit] of [
      [question(), 512],
      [question('example.org', { additionals: [extension(600)] }), 600],
      [question('example.org', { additionals: [extension(65_535)] }), 1232],
    ] as const) {
      const answer = (await service(message, 'udp')) ?? Buffer.alloc(0);
      assert.ok(answer.length <= limit, `${answer.length} bytes for ${limit}`);
      if (limit < 1000)
        assert.deepEqual(
          [decode(answer).flag_tc, decode(answer).id, decode(answer).questions?.[0]?.name],
          [true, 7, 'example.org'],
        );
    }
  });

  it('puts no name of the cluster into the answer for an alias', async () => {
    const alias = serviceOf('out', { type: 'ExternalName', clusterIP: '', externalName: 'evil.example' });
    const victim = 'kubernetes.default.svc.cluster.local';
    const { port } = await upstream(() => undefined);
    const tcp = createServer((socket) => {
      const frames = new TcpFrames((message) =>
        socket.write(
          tcpFrame(
            honest(message, {
              answers: [
                { name: 'evil.example', type: 'CNAME', ttl: 5, data: 'edge.example' },
                address('192.0.2.1', 'edge.example'),
                { name: 'edge.example', type: 'CNAME', ttl: 5, data: victim },
                address('203.0.113.66', victim),
                address('203.0.113.67', 'unrelated.example'),
              ],
            }),
          ),
        ),
      );
      socket.on('data', (chunk: Buffer) => frames.push(chunk)).on('error', () => undefined);
    });
    tcp.listen(port, '127.0.0.1');
    await once(tcp, 'listening');
    open.push(tcp);
    const answer = await nameService(forwarderTo(port), { ...emptyView, service: () => alias })(
      question('out.default.svc.cluster.local'),
      'tcp',
    );
    assert.deepEqual(dataOf(decode(answer ?? Buffer.alloc(0))), ['evil.example', 'edge.example', '192.0.2.1']);
  });

  it('that never ends, over TCP, is given up in time and not kept', async () => {
    const sockets: Socket[] = [];
    const tcp: Server = createServer((socket) => {
      sockets.push(socket);
      socket
        .on('error', () => undefined)
        .once('data', () => {
          // Two responses in one stream that belong to other queries, and then the announced length of a response that
          // never arrives.
          for (let turn = 0; turn < 50; turn += 1) socket.write(tcpFrame(question()));
          socket.write(Buffer.of(0xff, 0xff, 1));
        });
    });
    tcp.listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    open.push(tcp);
    await assert.rejects(
      forwarderTo((tcp.address() as AddressInfo).port).ask(question(), 'tcp'),
      /did not answer|hung up/,
    );
    assert.equal(sockets.length, 2, 'one server, asked twice');
    await Promise.all(sockets.map((socket) => socket.destroyed || once(socket, 'close')));
  });
});

describe('a circle', () => {
  afterEach(closeAll);

  it('of name servers that ends here is noticed at once', async () => {
    let heard = 0;
    // The node's name server is this server itself, by another address.
    const answering: { service?: NameService } = {};
    const server = await serve(
      (message, transport) => ((heard += 1), answering.service?.(message, transport) ?? Promise.resolve(undefined)),
    );
    answering.service = nameService(forwarderTo(server.port));
    const client = createSocket('udp4');
    open.push(client);
    client.send(question(), server.port, '127.0.0.1');
    const [answer] = (await once(client, 'message')) as [Buffer];
    assert.equal(rcodeOf(decode(answer)), 'SERVFAIL');
    assert.ok(heard <= 3, `${heard} questions for one`);
  });
});
