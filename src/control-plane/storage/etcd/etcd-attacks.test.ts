// An etcd that sends wrong responses over real gRPC.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { systemClock } from '../../../base/clock.ts';
import { silentLogger } from '../../../base/log.ts';
import { EtcdStorage } from './etcd-storage.ts';
import { RangeRequest, RangeResponse, StatusResponse, TxnResponse } from './generated/etcd-v3.ts';

type Answer = Parameters<typeof RangeResponse.fromPartial>[0];

const server = new Server();
let storage: EtcdStorage;
let answer: (request: RangeRequest) => Answer = () => ({});
let asked = 0;
const kv = (key: string, modRevision = 1n): { key: string; value: Uint8Array; modRevision: bigint } => ({
  key,
  value: Buffer.from('{}'),
  modRevision,
});
const header = { revision: 7n };

before(async () => {
  const method = <T>(path: string, handle: (request: Buffer) => Uint8Array): object => ({
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: (bytes: T) => bytes,
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: (bytes: Buffer) => bytes,
    responseDeserialize: (bytes: Buffer) => bytes,
    handle,
  });
  const methods = {
    range: method(
      '/etcdserverpb.KV/Range',
      (bytes) => (
        (asked += 1), RangeResponse.encode(RangeResponse.fromPartial(answer(RangeRequest.decode(bytes)))).finish()
      ),
    ),
    txn: method('/etcdserverpb.KV/Txn', () =>
      TxnResponse.encode(
        TxnResponse.fromPartial({ header, succeeded: false, responses: [{ responseRange: { kvs: [kv('/other')] } }] }),
      ).finish(),
    ),
    status: method('/etcdserverpb.Maintenance/Status', () =>
      StatusResponse.encode(StatusResponse.fromPartial({})).finish(),
    ),
  };
  const implementation = Object.fromEntries(
    Object.entries(methods).map(([name, { handle }]: [string, { handle?: (bytes: Buffer) => Uint8Array }]) => [
      name,
      (call: { request: Buffer }, done: (error: null, bytes: Buffer) => void) =>
        done(null, Buffer.from(handle?.(call.request) ?? [])),
    ]),
  );
  server.addService(
    methods as unknown as Parameters<Server['addService']>[0],
    implementation as unknown as Parameters<Server['addService']>[1],
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  storage = new EtcdStorage({ endpoints: [`http://127.0.0.1:${port}`], clock: systemClock, log: silentLogger });
});

after(async () => {
  await storage.close();
  server.forceShutdown();
});

describe('a list', () => {
  const wrong: readonly [what: string, answer: (request: RangeRequest) => Answer][] = [
    ['of keys outside of the prefix', () => ({ header, kvs: [kv('/registry/secrets/a')] })],
    ['of a prefix that only begins alike', () => ({ header, kvs: [kv('/registry/pod')] })],
    ['of keys that go down', () => ({ header, kvs: [kv('/registry/pods/b'), kv('/registry/pods/a')] })],
    ['of the same key again and again', () => ({ header, more: true, kvs: [kv('/registry/pods/a')] })],
    [
      'of more than was asked for',
      () => ({
        header,
        kvs: Array.from({ length: 501 }, (_, index) => kv(`/registry/pods/${String(index).padStart(4, '0')}`)),
      }),
    ],
    ['at a revision that no number holds', () => ({ header: { revision: 2n ** 62n }, kvs: [] })],
    ['of values of an impossible revision', () => ({ header, kvs: [kv('/registry/pods/a', -1n)] })],
  ];
  for (const [what, give] of wrong) {
    it(`${what} is an error, and ends`, async () => {
      [answer, asked] = [give, 0];
      await assert.rejects(storage.list('/registry/pods/'), /etcd answered with/);
      assert.ok(asked <= 2, `${asked} calls`);
    });
  }

  it('that announces more keys but returns none ends the list', async () => {
    answer = ({ key }) =>
      key === '/registry/pods/'
        ? { header, more: true, count: 9n, kvs: [kv('/registry/pods/a')] }
        : { header, more: true, count: -5n, kvs: [] };
    const { items, remaining } = await storage.list('/registry/pods/');
    assert.deepEqual([items.length, remaining], [1, 0]);
  });
});

describe('a single value', () => {
  it('of another key is an error, read or as what stands in the way of a write', async () => {
    answer = () => ({ header, kvs: [kv('/registry/secrets/a')] });
    await assert.rejects(storage.get('/registry/pods/a'), /another key/);
    await assert.rejects(storage.put('/registry/pods/a', '{}', { expected: 0 }), /another key/);
  });
});
