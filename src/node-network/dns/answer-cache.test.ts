import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Answer, Packet } from 'dns-packet';
import { decode, encode } from 'dns-packet';
import fc from 'fast-check';
import { AnswerCache, cacheLimits } from './answer-cache.ts';
import { createCachingForwarder } from './caching-forwarder.ts';
import { withId } from './forward-plan.ts';
import type { Forwarder } from './name-service.ts';
import { parseNameServer, parseStubDomain, stubServers } from './name-servers.ts';
import { RepeatedQuestions } from './repeated-questions.ts';

const ask = (name = 'example.org', id = 7, flags = 0x0100): Buffer =>
  encode({ type: 'query', id, flags, questions: [{ name, type: 'A', class: 'IN' }] });
const a = (ttl: number): Answer => ({ name: 'example.org', type: 'A', ttl, data: '192.0.2.1' });
const soa = (ttl: number, minimum: number): Answer => ({
  name: 'org',
  type: 'SOA',
  ttl,
  data: { mname: 'ns.org', rname: 'x.org', serial: 1, refresh: 1, retry: 1, expire: 1, minimum },
});
const reply = (more: Partial<Packet>, name = 'example.org'): Buffer =>
  encode({ type: 'response', id: 1, flags: 0x8180, questions: [{ name, type: 'A', class: 'IN' }], ...more });
/** Returns for how many seconds an answer is cached; 0 if it is not. */
function keptFor(answer: Buffer, maxSeconds = 3600): number {
  const cache = new AnswerCache({ ...cacheLimits, maxSeconds });
  cache.store(ask(), answer, 0);
  let seconds = 0;
  while (cache.find(ask(), seconds * 1000) !== undefined) seconds += 1;
  return seconds;
}

describe('answers of other DNS servers', () => {
  it('are kept as long as their shortest record lives, and no longer than the limit', () => {
    assert.equal(keptFor(reply({ answers: [a(9), a(5)] })), 5);
    assert.equal(keptFor(reply({ answers: [a(500)] }), 30), 30);
    assert.equal(keptFor(reply({ answers: [a(0)] })), 0);
    assert.equal(keptFor(reply({ answers: [a(500)] }), 0), 0);
  });

  it('that a name does not exist are cached for the time in the SOA record', () => {
    for (const code of [0, 3]) {
      assert.equal(keptFor(reply({ flags: 0x8180 | code, authorities: [soa(60, 8)] })), 8);
      assert.equal(keptFor(reply({ flags: 0x8180 | code, authorities: [soa(4, 8)] })), 4);
      assert.equal(keptFor(reply({ flags: 0x8180 | code })), 0);
    }
  });

  it('that are cut short or say of a failure are not kept', () => {
    assert.equal(keptFor(reply({ flags: 0x8380, answers: [a(9)] })), 0);
    for (const code of [2, 5]) assert.equal(keptFor(reply({ flags: 0x8180 | code, answers: [a(9)] })), 0);
  });

  it('that say of a failure are not kept, whatever they carry, nor are those without a question', () => {
    for (const code of [1, 2, 4, 5]) assert.equal(keptFor(reply({ flags: 0x8180 | code, answers: [a(9)] })), 0);
    const cache = new AnswerCache();
    cache.store(Buffer.alloc(3), reply({ answers: [a(9)] }), 0);
    cache.store(ask(), Buffer.alloc(3), 0);
    cache.store(ask(), reply({ answers: [a(0)] }), 0);
    assert.equal(cache.size, 0);
    assert.equal(cache.find(Buffer.alloc(3), 0), undefined);
  });

  it('of a name that there is not are kept for the time of the zone, not of the records that led there', () => {
    assert.equal(keptFor(reply({ flags: 0x8183, answers: [a(50)], authorities: [soa(60, 8)] })), 8);
    assert.equal(keptFor(reply({ flags: 0x8183, authorities: [a(50)] })), 0, 'no SOA record');
    assert.equal(keptFor(reply({ flags: 0x8183, answers: [soa(60, 8)] })), 0, 'an SOA record in another place');
  });

  it('have a record for options, which holds no time to live', () => {
    const options = {
      name: '.',
      type: 'OPT',
      udpPayloadSize: 4096,
      extendedRcode: 0,
      ednsVersion: 0,
      flags: 0x8000,
      options: [],
    };
    const cache = new AnswerCache();
    const answer = reply({ answers: [a(900)], additionals: [options] as unknown as Answer[] });
    assert.equal(keptFor(answer), 900);
    cache.store(ask(), answer, 1_000_000);
    const { additionals = [], answers = [] } = decode(cache.find(ask(), 1_005_000) ?? Buffer.alloc(0));
    assert.equal((answers[0] as { ttl?: number }).ttl, 895);
    assert.equal((additionals[0] as { flags?: number }).flags, 0x8000);
  });

  it('come back under the number and in the writing of the question, with less time to live', () => {
    const cache = new AnswerCache();
    cache.store(ask(), reply({ answers: [a(20)] }), 0);
    const found = cache.find(ask('eXample.ORG', 99), 3500) ?? assert.fail();
    const { id, questions, answers } = decode(found);
    assert.deepEqual([id, questions?.[0]?.name], [99, 'eXample.ORG']);
    assert.deepEqual(
      answers?.map((each) => ('ttl' in each ? each.ttl : '')),
      [17],
    );
    assert.equal(cache.find(ask('example.org', 1, 0), 0), undefined, 'what else is asked is another question');
  });

  it('take bounded memory, and those that are used stay', () => {
    const cache = new AnswerCache({ maxSeconds: 30, maxEntries: 3, maxBytes: 1 << 20 });
    const put = (name: string): void => cache.store(ask(name), reply({ answers: [a(20)] }, name), 0);
    for (const name of ['a', 'b', 'c']) put(name);
    assert.ok(cache.find(ask('a'), 0));
    put('d');
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((name) => cache.find(ask(name), 0) !== undefined),
      [true, false, true, true],
    );
    const small = new AnswerCache({ maxSeconds: 30, maxEntries: 1000, maxBytes: 2000 });
    for (let at = 0; at < 100; at += 1) small.store(ask(`n${at}`), reply({ answers: [a(20)] }, `n${at}`), 0);
    assert.ok(small.size < 10);
    const few = small.size;
    for (let at = 0; at < 100; at += 1) small.store(ask('n99'), reply({ answers: [a(20)] }, 'n99'), 0);
    assert.equal(small.size, few, 'an answer that replaces another takes its room');
  });

  it('of arbitrary bytes do not throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 90 }), fc.uint8Array({ maxLength: 90 }), (question, answer) => {
        const cache = new AnswerCache();
        cache.store(Buffer.from(question), Buffer.from(answer), 0);
        cache.find(Buffer.from(question), 1);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a forwarder with a cache', () => {
  it('asks for the same thing once, also while the answer is awaited; a failure is not kept', async () => {
    const asked: ((answer: Buffer | Error) => void)[] = [];
    const forwarder: Forwarder = {
      ask: (question) =>
        new Promise((resolve, reject) =>
          asked.push((answer) =>
            answer instanceof Error ? reject(answer) : resolve(withId(answer, question.readUInt16BE(0))),
          ),
        ),
      isOwn: () => false,
    };
    const caching = createCachingForwarder(forwarder, new AnswerCache(), { monotonicMs: () => 0 });
    const failing = [caching.ask(ask('example.org', 1), 'udp'), caching.ask(ask('example.org', 2), 'udp')];
    asked[0]?.(new Error('no answer'));
    assert.deepEqual(
      (await Promise.allSettled(failing)).map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    const both = [caching.ask(ask('example.org', 3), 'udp'), caching.ask(ask('Example.org', 4), 'udp')];
    asked[1]?.(reply({ answers: [a(20)] }));
    const ids = (await Promise.all(both)).map((answer) => [decode(answer).id, decode(answer).questions?.[0]?.name]);
    assert.deepEqual(ids, [
      [3, 'example.org'],
      [4, 'Example.org'],
    ]);
    assert.equal(decode(await caching.ask(ask('example.org', 5), 'tcp')).id, 5);
    assert.equal(asked.length, 2);
  });
});

describe('answers about the cluster', () => {
  it('are repeated until the cluster changes', () => {
    const repeated = new RepeatedQuestions();
    repeated.store(ask('web', 1), reply({ answers: [a(20)] }), 4);
    assert.equal(repeated.find(ask('web', 9), 4)?.readUInt16BE(0), 9);
    assert.equal(repeated.find(ask('Web', 9), 4), undefined);
    assert.equal(repeated.find(ask('web', 9), 5), undefined);
    for (let at = 0; at < 5000; at += 1) repeated.store(ask(`n${at}`), reply({}), 4);
    assert.equal(repeated.find(ask('web', 9), 4), undefined, 'what is held is bounded');
  });
});

describe('name servers for names outside the cluster', () => {
  it('are addresses with or without a port', () => {
    assert.deepEqual(parseNameServer('192.0.2.1'), { ip: '192.0.2.1', port: 53 });
    assert.deepEqual(parseNameServer('192.0.2.1:5353'), { ip: '192.0.2.1', port: 5353 });
    assert.deepEqual(parseNameServer('2001:db8::1'), { ip: '2001:db8::1', port: 53 });
    assert.deepEqual(parseNameServer('[2001:db8::1]:5353'), { ip: '2001:db8::1', port: 5353 });
    for (const wrong of ['', 'ns.example.org', '192.0.2.1:0', '192.0.2.1:70000', '192.0.2.300'])
      assert.equal(parseNameServer(wrong), undefined, wrong);
  });

  it('are those of the longest stub domain that the name is in', () => {
    const stubs = new Map(
      ['corp.example=192.0.2.1', 'db.corp.example.=192.0.2.2:5353,192.0.2.3'].map((text) => {
        const { domain, servers } = parseStubDomain(text) ?? assert.fail(text);
        return [domain, servers] as const;
      }),
    );
    const of = (name: string): string | undefined =>
      stubServers(name, stubs)
        ?.map(({ ip }) => ip)
        .join();
    assert.deepEqual(['a.DB.corp.example.', 'db.corp.example', 'x.corp.example', 'xcorp.example', 'example'].map(of), [
      '192.0.2.2,192.0.2.3',
      '192.0.2.2,192.0.2.3',
      '192.0.2.1',
      undefined,
      undefined,
    ]);
    for (const wrong of ['corp.example', '=192.0.2.1', 'corp.example=', 'corp.example=x', 'a..b=192.0.2.1'])
      assert.equal(parseStubDomain(wrong), undefined, wrong);
  });
});
