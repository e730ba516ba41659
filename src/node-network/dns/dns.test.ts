import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Answer, DecodedPacket, Packet } from 'dns-packet';
import { decode, encode } from 'dns-packet';
import fc from 'fast-check';
import { createInformers } from '../../api/client/informer.ts';
import { endpointSlices, namespaces, services } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import type { Service } from '../../api/core/service.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { service, slice } from '../service-routing/testing/service-builders.ts';
import type { ClusterView } from './cluster-names.ts';
import { answerClusterName } from './cluster-names.ts';
import { followClusterView } from './cluster-view.ts';
import { isAnswerTo, nameServers, withId } from './forward-plan.ts';
import { messageEnd } from './message-bounds.ts';
import type { Forwarder } from './name-service.ts';
import { createNameService } from './name-service.ts';

/** The library reads the code, although its types do not contain it. */
const rcodeOf = (packet: DecodedPacket): string => (packet as DecodedPacket & { readonly rcode: string }).rcode;

const headless = (name: string, spec: Partial<Service['spec']> = {}): Service =>
  service(name, { clusterIP: 'None', clusterIPs: ['None'], ports: [{ name: 'http', port: 80 }], ...spec });

async function viewOf(): Promise<() => ClusterView | undefined> {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  api.seed(namespaces, { metadata: { name: 'default', namespace: '', uid: 'default' }, spec: {} });
  api.seed(namespaces, { metadata: { name: 'empty', namespace: '', uid: 'empty' }, spec: {} });
  api.seed(
    services,
    service('web', {
      clusterIPs: ['10.96.0.20', 'fd00::20'],
      ports: [
        { name: 'http', port: 80 },
        { name: 'dns', port: 53, protocol: 'UDP' },
      ],
    }),
  );
  api.seed(services, headless('db'));
  api.seed(services, headless('nobody'));
  api.seed(services, service('out', { type: 'ExternalName', clusterIP: '', externalName: 'example.org' }));
  api.seed(
    services,
    service('long', { type: 'ExternalName', clusterIP: '', externalName: `${'a'.repeat(200)}.example.org` }),
  );
  api.seed(
    services,
    service('inner', { type: 'ExternalName', clusterIP: '', externalName: 'web.default.svc.cluster.local' }),
  );
  api.seed(endpointSlices, slice('web', ['10.84.0.2']));
  api.seed(
    endpointSlices,
    slice(
      'db',
      [
        { addresses: ['10.84.0.3'], hostname: 'db-0', conditions: { ready: true } },
        { addresses: ['10.84.0.4'] },
        { addresses: ['10.84.0.5'], conditions: { ready: false } },
      ],
      [{ name: 'http', port: 8080, protocol: 'TCP' }],
    ),
  );
  api.seed(endpointSlices, slice('nobody', []));
  const informers = createInformers({ client: api, clock, random: seededRandom(1), log: silentLogger });
  const view = followClusterView(informers, 'cluster.local');
  assert.equal(view(), undefined);
  informers.start();
  await clock.advance(100);
  return view;
}

/** `type name → data`, or the response code of a refusal. */
async function ask(name: string, type = 'A'): Promise<string[] | string> {
  const view = (await viewOf())();
  assert.ok(view);
  const answer = answerClusterName(name, type, view);
  if (answer.kind !== 'found') return answer.kind;
  const text = (record: (typeof answer.answers)[number]): string =>
    record.type === 'SRV'
      ? `SRV ${record.data.port} ${record.data.target}`
      : record.type === 'SOA'
        ? 'SOA'
        : `${record.type} ${record.data}`;
  return [...answer.answers.map(text), ...answer.additionals.map((record) => `+${text(record)} ${record.name}`)].sort();
}

describe('names of the cluster', () => {
  const cases: readonly [what: string, name: string, type: string, answer: string[] | string][] = [
    ['a service has its address', 'web.default.svc.cluster.local', 'A', ['A 10.96.0.20']],
    ['of either family', 'web.default.svc.cluster.local', 'AAAA', ['AAAA fd00::20']],
    ['whatever the case of the letters', 'WEB.Default.svc.Cluster.LOCAL', 'A', ['A 10.96.0.20']],
    ['a type it has not is no missing name', 'web.default.svc.cluster.local', 'MX', []],
    [
      'a headless service has those of its ready endpoints',
      'db.default.svc.cluster.local',
      'A',
      ['A 10.84.0.3', 'A 10.84.0.4'],
    ],
    ['each of which has a name: its own', 'db-0.db.default.svc.cluster.local', 'A', ['A 10.84.0.3']],
    ['or one made of its address', '10-84-0-4.db.default.svc.cluster.local', 'A', ['A 10.84.0.4']],
    ['those of other services, too', '10-84-0-2.web.default.svc.cluster.local', 'A', ['A 10.84.0.2']],
    ['one that is not ready has none', '10-84-0-5.db.default.svc.cluster.local', 'A', 'no-such-name'],
    [
      'a headless service without ready endpoints is not there',
      'nobody.default.svc.cluster.local',
      'A',
      'no-such-name',
    ],
    [
      'a named port is found by it',
      '_http._tcp.web.default.svc.cluster.local',
      'SRV',
      [
        '+A 10.96.0.20 web.default.svc.cluster.local',
        '+AAAA fd00::20 web.default.svc.cluster.local',
        'SRV 80 web.default.svc.cluster.local',
      ],
    ],
    [
      'of a headless service on every endpoint',
      '_http._tcp.db.default.svc.cluster.local',
      'SRV',
      [
        '+A 10.84.0.3 db-0.db.default.svc.cluster.local',
        '+A 10.84.0.4 10-84-0-4.db.default.svc.cluster.local',
        'SRV 8080 10-84-0-4.db.default.svc.cluster.local',
        'SRV 8080 db-0.db.default.svc.cluster.local',
      ],
    ],
    ['by its own protocol only', '_http._udp.web.default.svc.cluster.local', 'SRV', 'no-such-name'],
    ['a service of another name is that one', 'out.default.svc.cluster.local', 'A', ['CNAME example.org']],
    ['one of a name that DNS has no room for is not there', 'long.default.svc.cluster.local', 'A', 'no-such-name'],
    ['there is no other service', 'none.default.svc.cluster.local', 'A', 'no-such-name'],
    ['nor one in another namespace', 'web.empty.svc.cluster.local', 'A', 'no-such-name'],
    ['a namespace is a name without records', 'empty.svc.cluster.local', 'A', []],
    ['one that is not there is none', 'none.svc.cluster.local', 'A', 'no-such-name'],
    [
      'what a search list appends to other names is not there',
      'example.org.default.svc.cluster.local',
      'A',
      'no-such-name',
    ],
    ['nor what stands above services', 'example.cluster.local', 'A', 'no-such-name'],
    ['pods have names made of their addresses', '10-84-0-9.default.pod.cluster.local', 'A', ['A 10.84.0.9']],
    ['of either family', 'fd00--9.default.pod.cluster.local', 'AAAA', ['AAAA fd00::9']],
    ['and no others', 'web.default.pod.cluster.local', 'A', 'no-such-name'],
    ['not in a namespace that is not there', '10-84-0-9.none.pod.cluster.local', 'A', 'no-such-name'],
    ['the zone says who speaks for it', 'cluster.local', 'SOA', ['SOA']],
    ['and which specification', 'dns-version.cluster.local', 'TXT', ['TXT 1.1.0']],
    ['an address of a service has a name', '20.0.96.10.in-addr.arpa', 'PTR', ['PTR web.default.svc.cluster.local']],
    [
      'of either family',
      '0.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa',
      'PTR',
      ['PTR web.default.svc.cluster.local'],
    ],
    ['and one of an endpoint', '3.0.84.10.in-addr.arpa', 'PTR', ['PTR db-0.db.default.svc.cluster.local']],
    ['others may know other addresses', '1.1.1.1.in-addr.arpa', 'PTR', 'elsewhere'],
    ['and other names', 'example.org', 'A', 'elsewhere'],
    ['even those that end alike', 'notcluster.local', 'A', 'elsewhere'],
  ];
  for (const [what, name, type, answer] of cases)
    it(`${what}: ${type} ${name.slice(0, 60)}`, async () => assert.deepEqual(await ask(name, type), answer));

  it('no name, however it is made, throws', async () => {
    const view = (await viewOf())();
    assert.ok(view);
    const label = fc.oneof(
      fc.constantFrom(
        'web',
        'db',
        'default',
        'svc',
        'pod',
        '_http',
        '_tcp',
        'cluster',
        'local',
        'in-addr',
        'arpa',
        'ip6',
        '',
        '10-84-0-2',
        '1',
      ),
      fc.string({ maxLength: 5 }),
    );
    fc.assert(
      fc.property(
        fc.array(label, { maxLength: 9 }),
        fc.constantFrom('A', 'AAAA', 'SRV', 'PTR', 'ANY'),
        (labels, type) => void answerClusterName(labels.join('.'), type, view),
      ),
      { numRuns: 1000 },
    );
  });
});

describe('messages', () => {
  const query = (name: string, type: 'A' | 'SRV' | 'CNAME' = 'A', more: Partial<Packet> = {}): Buffer =>
    encode({ type: 'query', id: 7, flags: 0x0100, questions: [{ name, type, class: 'IN' }], ...more });
  const start = async (
    forwarder: Forwarder = { ask: () => Promise.reject(new Error('connection refused')), isOwn: () => false },
  ): Promise<(message: Buffer, transport?: 'udp' | 'tcp') => Promise<ReturnType<typeof decode>>> => {
    const service = createNameService({ view: await viewOf(), forwarder, log: silentLogger });
    return async (message, transport = 'udp') => decode((await service(message, transport)) ?? Buffer.alloc(0));
  };

  it('an answer has the question as it was asked, says whose word it is, and how long it holds', async () => {
    const answer = await (await start())(query('Web.default.svc.cluster.local'));
    assert.deepEqual(
      [answer.id, rcodeOf(answer), answer.flag_aa, answer.flag_rd, answer.flag_ra, answer.questions?.[0]?.name],
      [7, 'NOERROR', true, true, true, 'Web.default.svc.cluster.local'],
    );
    assert.deepEqual(
      answer.answers?.map((each) => [each.type, each.name, 'ttl' in each ? each.ttl : 0]),
      [['A', 'Web.default.svc.cluster.local', 30]],
    );
  });

  it('of a name that is not there, and of one without such a record, the zone says how long that holds', async () => {
    const [missing, empty] = await Promise.all(
      ['none.default.svc.cluster.local', 'empty.svc.cluster.local'].map(async (name) => (await start())(query(name))),
    );
    assert.deepEqual(
      [missing, empty].map((answer) => [
        answer && rcodeOf(answer),
        answer?.answers?.length,
        answer?.authorities?.map((each) => each.type),
      ]),
      [
        ['NXDOMAIN', 0, ['SOA']],
        ['NOERROR', 0, ['SOA']],
      ],
    );
  });

  it('other names are asked of others', async () => {
    const asked: string[] = [];
    const reply = encode({
      type: 'response',
      id: 7,
      questions: [{ name: 'example.org', type: 'A' }],
      answers: [{ name: 'example.org', type: 'A', ttl: 5, data: '192.0.2.1' }],
    });
    const service = createNameService({
      view: await viewOf(),
      log: silentLogger,
      forwarder: {
        ask: async (message, transport) => (asked.push(`${transport} ${message.toString('hex')}`), reply),
        isOwn: () => false,
      },
    });
    const message = query('example.org');
    assert.deepEqual([await service(message, 'tcp'), asked], [reply, [`tcp ${message.toString('hex')}`]]);
  });

  it('without a response, and before anything is known, it reports a failure and not a missing name', async () => {
    assert.equal(rcodeOf(await (await start())(query('example.org'))), 'SERVFAIL');
    const early = createNameService({
      view: () => undefined,
      forwarder: { ask: () => Promise.reject(new Error('no')), isOwn: () => false },
      log: silentLogger,
    });
    assert.equal(
      rcodeOf(decode((await early(query('web.default.svc.cluster.local'), 'udp')) ?? Buffer.alloc(0))),
      'SERVFAIL',
    );
  });

  it('a CNAME is resolved inside and outside the cluster; a CNAME query returns only the CNAME', async () => {
    const ask = await start({
      ask: async () =>
        encode({
          type: 'response',
          questions: [],
          answers: [{ name: 'example.org', type: 'A', ttl: 5, data: '192.0.2.1' }],
        }),
      isOwn: () => false,
    });
    const data = (answer: Packet): unknown[] => (answer.answers ?? []).map((each) => ('data' in each ? each.data : ''));
    assert.deepEqual(data(await ask(query('out.default.svc.cluster.local'))), ['example.org', '192.0.2.1']);
    assert.deepEqual(data(await ask(query('inner.default.svc.cluster.local'))), [
      'web.default.svc.cluster.local',
      '10.96.0.20',
    ]);
    assert.deepEqual(data(await ask(query('out.default.svc.cluster.local', 'CNAME'))), ['example.org']);
    assert.deepEqual(data(await (await start())(query('out.default.svc.cluster.local'))), ['example.org']);
  });

  it('an answer too long for the client is cut and says so; over TCP, or with more room, it is whole', async () => {
    const clock = new FakeClock();
    const api = new FakeApiClient({ clock });
    api.seed(namespaces, { metadata: { name: 'default', namespace: '', uid: 'default' }, spec: {} });
    api.seed(services, headless('many'));
    api.seed(
      endpointSlices,
      slice(
        'many',
        Array.from({ length: 20 }, (_, index) => `10.84.1.${index}`),
      ),
    );
    const informers = createInformers({ client: api, clock, random: seededRandom(1), log: silentLogger });
    const service = createNameService({
      view: followClusterView(informers, 'cluster.local'),
      forwarder: { ask: () => Promise.reject(new Error('no')), isOwn: () => false },
      log: silentLogger,
    });
    informers.start();
    await clock.advance(100);
    const count = async (message: Buffer, transport: 'udp' | 'tcp'): Promise<unknown[]> => {
      const bytes = (await service(message, transport)) ?? Buffer.alloc(0);
      const answer = decode(bytes);
      return [answer.flag_tc, answer.answers?.length, bytes.length <= (transport === 'tcp' ? 65_535 : 1232)];
    };
    const extension: Answer = {
      type: 'OPT',
      name: '.',
      udpPayloadSize: 4096,
      extendedRcode: 0,
      ednsVersion: 0,
      flags: 0,
      flag_do: false,
      options: [],
    };
    assert.deepEqual(await count(query('many.default.svc.cluster.local'), 'udp'), [true, 0, true]);
    assert.deepEqual(await count(query('many.default.svc.cluster.local', 'A', { additionals: [extension] }), 'udp'), [
      false,
      20,
      true,
    ]);
    assert.deepEqual(await count(query('many.default.svc.cluster.local'), 'tcp'), [false, 20, true]);
  });

  it('ignores messages that are not queries, returns an error for malformed or unsupported ones, and never throws', async () => {
    const service = createNameService({
      view: await viewOf(),
      forwarder: { ask: () => Promise.reject(new Error('no')), isOwn: () => false },
      log: silentLogger,
    });
    const rcode = async (message: Buffer): Promise<string | undefined> => {
      const answer = await service(message, 'udp');
      return answer === undefined ? undefined : rcodeOf(decode(answer));
    };
    assert.equal(await rcode(encode({ type: 'response', id: 1, questions: [] })), undefined);
    assert.equal(await rcode(Buffer.alloc(5)), undefined);
    assert.equal(await rcode(query('web.default.svc.cluster.local').subarray(0, 20)), 'FORMERR');
    assert.equal(await rcode(Buffer.from('000708000001000000000000', 'hex')), 'NOTIMP');
    assert.equal(await rcode(Buffer.from('0007010000010000000000000377656200000100ff', 'hex')), 'REFUSED');
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), fc.nat(79), async (bytes, at) => {
        const message = Buffer.concat([query('web.default.svc.cluster.local').subarray(0, at), Buffer.from(bytes)]);
        await service(message, 'udp');
      }),
      { numRuns: 500 },
    );
  });
});

describe('asking others', () => {
  it('name servers are those of the file, three at most, without ourselves', () => {
    assert.deepEqual(
      nameServers(
        'search x\nnameserver 192.0.2.1\n nameserver 10.84.0.1 # us\nnameserver fe80::1%eth0\nnameserver nonsense\nnameserver abc\nnameserver 1.2.3\nnameserver 999.1.1.1\nnameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n',
        ['10.84.0.1'],
      ),
      ['192.0.2.1', 'fe80::1', '192.0.2.2'],
    );
  });

  it('an answer counts only with our number and to our question', () => {
    const question = withId(encode({ type: 'query', id: 1, questions: [{ name: 'example.org', type: 'A' }] }), 9);
    const answer = (name: string, id = 9): Buffer => encode({ type: 'response', id, questions: [{ name, type: 'A' }] });
    assert.deepEqual(
      [answer('EXAMPLE.org'), answer('example.net'), answer('example.org', 8), question, Buffer.alloc(3)].map((each) =>
        isAnswerTo(question, each, 9),
      ),
      [true, false, false, false, false],
    );
  });
});

describe('a message as a whole', () => {
  const record = Buffer.from('c00c00010001000000050004c0000201', 'hex');
  const answerWith = (records: readonly Buffer[], count = records.length): Buffer => {
    const head = encode({ type: 'response', id: 1, questions: [{ name: 'example.org', type: 'A' }] });
    head.writeUInt16BE(count, 6);
    return Buffer.concat([head, ...records]);
  };

  it('ends where its last record ends', () => {
    const whole = answerWith([record, record]);
    assert.deepEqual(
      [messageEnd(whole), messageEnd(Buffer.concat([whole, Buffer.alloc(9)]))],
      [whole.length, whole.length],
    );
    assert.deepEqual(
      [messageEnd(whole.subarray(0, -1)), messageEnd(answerWith([record], 2)), messageEnd(Buffer.alloc(11))],
      [undefined, undefined, undefined],
    );
  });

  it('encoded messages are complete, and arbitrary bytes do not throw', () => {
    fc.assert(
      fc.property(fc.array(fc.domain(), { minLength: 1, maxLength: 20 }), (names) => {
        const bytes = encode({
          type: 'response',
          questions: [{ name: names[0] ?? '', type: 'A' }],
          answers: names.map((name) => ({ name, type: 'CNAME', ttl: 1, data: name }) as Answer),
        });
        assert.equal(messageEnd(bytes), bytes.length);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void messageEnd(Buffer.from(bytes))),
      { numRuns: 2000 },
    );
  });

  it('names made of thousands of pointers are refused after a few', () => {
    // Each name points to the previous one; the last records point to the end of that chain.
    const pointer = (to: number): Buffer => Buffer.of(0xc0 | (to >> 8), to & 0xff);
    const start = answerWith([]).length + 12;
    const chain = Buffer.concat([
      pointer(12),
      ...Array.from({ length: 4000 }, (_, index) => pointer(start + 2 * index)),
    ]);
    const holder = Buffer.concat([Buffer.from('c00c00100001000000050000', 'hex'), chain]);
    holder.writeUInt16BE(chain.length, 10);
    const named = (to: number): Buffer => answerWith([holder, Buffer.concat([pointer(to), record.subarray(2)])]);
    assert.deepEqual([messageEnd(named(start + 100)), messageEnd(named(start + 8000))], [named(0).length, undefined]);
  });
});
