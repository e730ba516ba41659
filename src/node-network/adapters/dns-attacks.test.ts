// The name service on loopback, attacked by what answers it and by what asks it.
import assert from 'node:assert/strict';
import type { Socket as UdpSocket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Answer, DecodedPacket, Packet } from 'dns-packet';
import { decode, encode } from 'dns-packet';
import fc from 'fast-check';
import { silentLogger } from '../../base/log.ts';
import type { ClusterView } from '../dns/cluster-names.ts';
import type { Forwarder, NameService } from '../dns/name-service.ts';
import { createNameService } from '../dns/name-service.ts';
import { service as serviceOf } from '../service-routing/testing/service-builders.ts';
import type { DnsForwarderOptions } from './dns-forwarder.ts';
import { createDnsForwarder } from './dns-forwarder.ts';
import { TcpFrames, tcpFrame } from './dns-frames.ts';
import type { DnsServer, DnsServerOptions } from './dns-server.ts';
import { startDnsServer } from './dns-server.ts';

let folder = '';
let resolvConf = '';
const open: { close(): unknown }[] = [];
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'kts-dns-'));
  resolvConf = join(folder, 'resolv.conf');
  writeFileSync(resolvConf, 'nameserver 127.0.0.1\n');
});
after(() => rmSync(folder, { recursive: true, force: true }));
/** All unit tests share one process, where a hook outside of a suite would run for each of them. */
const closeAll = async (): Promise<void> => {
  for (const each of open.splice(0)) await each.close();
};

const rcodeOf = (packet: DecodedPacket): string => (packet as DecodedPacket & { readonly rcode: string }).rcode;
const dataOf = (packet: DecodedPacket): unknown[] =>
  (packet.answers ?? []).map((each) => ('data' in each ? each.data : ''));
const question = (name = 'example.org', more: Partial<Packet> = {}): Buffer =>
  encode({ type: 'query', id: 7, flags: 0x0100, questions: [{ name, type: 'A', class: 'IN' }], ...more });
const extension = (udpPayloadSize: number): Answer => ({
  type: 'OPT',
  name: '.',
  udpPayloadSize,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
});
const address = (data = '192.0.2.77', name = 'example.org'): Answer => ({ name, type: 'A', ttl: 5, data });
/** What an honest name server says. */
const honest = (message: Buffer, more: Partial<Packet> = {}): Buffer =>
  encode({
    type: 'response',
    id: message.readUInt16BE(0),
    questions: decode(message).questions ?? [],
    answers: [address()],
    ...more,
  });

interface Asked {
  readonly message: Buffer;
  readonly from: AddressInfo;
  reply(answer: Buffer): void;
}

/** A name server that returns scripted responses. */
async function upstream(
  onAsked: (asked: Asked) => void,
): Promise<{ readonly port: number; readonly socket: UdpSocket }> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  open.push(socket);
  socket.on('message', (message, from) =>
    onAsked({ message, from: { ...from }, reply: (answer) => socket.send(answer, from.port, from.address) }),
  );
  return { port: socket.address().port, socket };
}

const forwarderTo = (port: number, more: Partial<DnsForwarderOptions> = {}): Forwarder =>
  createDnsForwarder({ resolvConf, ownAddress: '127.0.0.9', port, timeoutMs: 100, ...more });

const emptyView: ClusterView = {
  domain: 'cluster.local',
  hasNamespace: () => true,
  service: () => undefined,
  slices: () => [],
  servicesAt: () => [],
  slicesWith: () => [],
};
const nameService = (forwarder: Forwarder, view: ClusterView = emptyView): NameService =>
  createNameService({ view: () => view, forwarder, log: silentLogger });

async function serve(service: NameService, more: Partial<DnsServerOptions> = {}): Promise<DnsServer> {
  const server = await startDnsServer({ address: '127.0.0.1', port: 0, service, ...more });
  open.push(server);
  return server;
}

/** The outcome of one question: the data of the answers, or the error code. */
async function outcome(port: number, message: Buffer = question()): Promise<unknown[] | string> {
  const answer = await nameService(forwarderTo(port))(message, 'udp');
  assert.ok(answer);
  const packet = decode(answer);
  return rcodeOf(packet) === 'NOERROR' ? dataOf(packet) : rcodeOf(packet);
}

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
    it(`counts for nothing: ${what}`, async () => {
      const { port } = await upstream(({ message, reply }) => {
        reply(forge(message));
        reply(honest(message));
      });
      assert.deepEqual(await outcome(port), ['192.0.2.77']);
    });
  }

  it('counts for nothing: right in all but where it comes from', async () => {
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
    // By chance 200 of 65536 numbers hardly meet; of 28000 ports a few do.
    assert.ok(distinct(seen.map(({ id }) => id)) > 190, 'numbers');
    assert.ok(distinct(seen.map((each) => each.port)) > 150, 'ports');
    const steps = seen.slice(1).map(({ id }, index) => id - (seen[index]?.id ?? 0));
    assert.ok(distinct(steps) > 150, 'numbers do not go up in steps');
  });
});

describe('an answer of the name server that is made to harm', () => {
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
    it(`is not handed on: ${what}`, async () => {
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
          // Others' messages, one behind the other, and then one that is announced and does not come.
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

describe('what a client sends', () => {
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

  it('an answer sent as a question is answered by nothing, so that two servers cannot be set upon each other', async () => {
    const service = nameService({ ask: () => Promise.reject(new Error('no')), isOwn: () => false });
    for (const message of [honest(question()), encode({ type: 'response', id: 1, flags: 1 }), Buffer.alloc(11)])
      assert.equal(await service(message, 'udp'), undefined);
  });
});

describe('a circle', () => {
  afterEach(closeAll);

  it('of name servers that ends here is noticed at once', async () => {
    let heard = 0;
    // The node's name server is this very server, by another of its addresses.
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

/** Until the connection has ended, in order or by a reset: `once` would reject for a reset. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => void socket.once('close', () => resolve()));

describe('a client that takes all there is', () => {
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

  it('that asks and asks over TCP and reads no answer is held back, and ended', async () => {
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
    // There is room for another when it is ended.
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
    // 5000 answers are 200 MB; the kernel's buffers take a few hundred of them.
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
