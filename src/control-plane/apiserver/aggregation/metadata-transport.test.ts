import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { systemClock } from '../../../base/clock.ts';
import type { ApiBackend } from '../../model/api-backends.ts';
import { MetadataTransport } from './metadata-transport.ts';

const backend: ApiBackend = {
  name: 'v1.sea.io',
  group: 'sea.io',
  version: 'v1',
  service: { namespace: 'apis', name: 'sea', port: 443 },
  insecureSkipTLSVerify: false,
  groupPriority: 2000,
  versionPriority: 10,
  isAvailable: true,
};
const BOATS = '/apis/sea.io/v1/boats';
const metadata = { name: 'b', namespace: 'default', uid: 'u', resourceVersion: '5' };
const boat = { ...{ apiVersion: 'sea.io/v1', kind: 'Boat' }, metadata: { ...metadata, labels: { a: 'b' } }, spec: {} };

describe('the metadata of objects of an aggregated server', () => {
  let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(request, response, Buffer.concat(chunks).toString('utf8')));
  });
  let port = 0;
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  let known: ApiBackend | undefined = backend;
  const listeners = new Set<() => void>();
  const transport = (): MetadataTransport =>
    new MetadataTransport(
      {
        clock: systemClock,
        backends: {
          all: [],
          find: () => known,
          onChange: (listener) => {
            listeners.add(listener);
            return () => void listeners.delete(listener);
          },
        },
        resolve: () => ({ host: '127.0.0.1', port }),
        dialer: () =>
          new Promise<ReturnType<typeof connect>>((resolve, reject) => {
            const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject);
          }),
      },
      backend,
      { name: 'collector', groups: ['controllers'] },
    );
  const reply = (value: unknown, code = 200): void => {
    answer = (_, response) => response.writeHead(code).end(typeof value === 'string' ? value : JSON.stringify(value));
  };
  const list = (query = ''): Promise<unknown> =>
    transport().send({ method: 'GET', path: `${BOATS}?limit=500${query}` });
  const failureOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'no failure',
      (error: unknown) => error,
    );
  const watch = async (query = '', signal = new AbortController().signal): Promise<readonly unknown[]> => {
    const seen: unknown[] = [];
    for await (const event of transport().stream(`${BOATS}?watch=true${query}`, signal)) seen.push(event);
    return seen;
  };

  it('lists are requested as metadata in small pages, and carry nothing else', async () => {
    let asked: readonly unknown[] = [];
    answer = ({ url, headers }, response) => {
      asked = [url, headers.accept, headers['x-remote-user']];
      response.end(JSON.stringify({ metadata: { resourceVersion: '9', continue: 'next', other: 1 }, items: [boat] }));
    };
    assert.deepEqual(await list('&resourceVersion=0'), {
      metadata: { resourceVersion: '9', continue: 'next' },
      items: [{ metadata }],
    });
    assert.deepEqual(asked, [
      `${BOATS}?limit=100&resourceVersion=0`,
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
      'collector',
    ]);
  });

  it('owners, finalizers and the time of deletion are kept', async () => {
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'q' };
    const more = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a'] };
    reply({ metadata: { ...metadata, ...more, ownerReferences: [{ ...owner, blockOwnerDeletion: true, x: 1 }] } });
    assert.deepEqual(await transport().send({ method: 'GET', path: `${BOATS}/b` }), {
      metadata: { ...metadata, ...more, ownerReferences: [{ ...owner, blockOwnerDeletion: true }] },
    });
  });

  it('an answer that is no list, or has objects without valid metadata, is refused', async () => {
    const listOf = (item: unknown): object => ({ metadata: { resourceVersion: '1' }, items: [item] });
    for (const lie of [
      'x',
      {},
      { items: {}, metadata: { resourceVersion: '1' } },
      { items: [], metadata: {} },
      listOf(null),
      listOf({}),
      listOf({ metadata: { ...metadata, name: { toString: 1 } } }),
      listOf({ metadata: { ...metadata, uid: '' } }),
      listOf({ metadata: { ...metadata, finalizers: { map: 1 } } }),
      listOf({ metadata: { ...metadata, finalizers: [1] } }),
      listOf({ metadata: { ...metadata, ownerReferences: [null] } }),
      listOf({ metadata: { ...metadata, ownerReferences: [{ uid: 'x' }] } }),
      listOf({ metadata: { ...metadata, name: 'x'.repeat(5000) } }),
    ]) {
      reply(lie);
      assert.ok(isApiError(await failureOf(list()), 'ServiceUnavailable'), JSON.stringify(lie).slice(0, 100));
    }
  });

  it('an endless list is given up', async () => {
    const items = Array.from({ length: 5_000 }, () => ({ metadata }));
    reply({ metadata: { resourceVersion: '1', continue: 'more' }, items });
    const one = transport();
    const page = (query = ''): Promise<unknown> => one.send({ method: 'GET', path: `${BOATS}?limit=1${query}` });
    await page();
    for (let count = 1; count < 10; count++) await page('&continue=more');
    assert.match(String(await failureOf(page('&continue=more'))), /more than 50000 objects/);
    // A new list counts from nothing.
    await page();
  });

  it('a watch delivers checked events until the server ends it', async () => {
    const bookmark = { resourceVersion: '7', annotations: { other: 'x' } };
    const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old', details: { causes: {} } };
    answer = (_, response) => {
      const [first, ...others] = [
        { type: 'ADDED', object: boat },
        { type: 'BOOKMARK', object: { metadata: bookmark, spec: {} } },
        { type: 'ERROR', object: gone },
      ].map((each) => `${JSON.stringify(each)}\n`);
      // In pieces, as a network delivers them.
      response.write(first?.slice(0, 20));
      setImmediate(() => response.end(first?.slice(20).concat(...others)));
    };
    assert.deepEqual(await watch(), [
      { type: 'ADDED', object: { metadata } },
      { type: 'BOOKMARK', object: { metadata: { resourceVersion: '7' } } },
      {
        type: 'ERROR',
        object: { kind: 'Status', apiVersion: 'v1', code: 410, message: 'too old', reason: 'Expired', details: {} },
      },
    ]);
  });

  it('a watch fails if it is cut off, sends invalid events or too long ones', async () => {
    const event = `${JSON.stringify({ type: 'ADDED', object: boat })}\n`;
    for (const [text, why] of [
      ['oops\n', /JSON/],
      ['{"type":"OTHER"}\n', /no valid type/],
      ['{"type":"BOOKMARK","object":{}}\n', /no resourceVersion/],
      ['x'.repeat(1_100_000), /more than 1048576 characters/],
    ] as const) {
      reply(text);
      assert.match(String(await failureOf(watch())), why);
    }
    answer = (_, response) => {
      response.write(event);
      setImmediate(() => response.destroy());
    };
    assert.ok(isApiError(await failureOf(watch()), 'ServiceUnavailable'));
  });

  it('a streamed list is refused, because old servers would never end it', async () => {
    answer = () => assert.fail('asked');
    assert.ok(isApiError(await failureOf(watch('&sendInitialEvents=true')), 'Invalid'));
  });

  it('the reader of a watch ends it', async () => {
    const leave = new AbortController();
    const closed = Promise.withResolvers<void>();
    answer = (_, response) => {
      response.on('close', closed.resolve);
      response.write('\n', () => leave.abort());
    };
    assert.deepEqual(await watch('', leave.signal), []);
    await closed.promise;
  });

  it('writes carry their body, and errors the reason of the server', async () => {
    answer = ({ method, headers }, response, body) =>
      response.end(JSON.stringify({ metadata: { ...metadata, name: `${method} ${headers['content-type']} ${body}` } }));
    const contentType = 'application/merge-patch+json';
    assert.deepEqual(await transport().send({ method: 'PATCH', path: `${BOATS}/b`, body: { a: 1 }, contentType }), {
      metadata: { ...metadata, name: `PATCH ${contentType} {"a":1}` },
    });
    reply({ kind: 'Status' });
    const remove = (): Promise<unknown> => transport().send({ method: 'DELETE', path: `${BOATS}/b`, body: {} });
    assert.equal(await remove(), undefined);
    for (const [code, status, reason] of [
      [409, { reason: 'Conflict' }, 'Conflict'],
      [404, { reason: 'NotFound', details: { name: 'b' } }, 'NotFound'],
      [404, { reason: 'NotFound' }, 'ServiceUnavailable'],
      [404, '404 page not found', 'ServiceUnavailable'],
      [410, {}, 'Expired'],
      [500, 'oops', 'InternalError'],
    ] as const) {
      reply(status, code);
      const error = await failureOf(remove());
      assert.ok(isApiError(error), String(error));
      assert.equal(error.reason === 'Gone' ? 'Expired' : error.reason, reason);
    }
  });

  it('a server that is unavailable is not asked, and its return is announced', async () => {
    known = { ...backend, isAvailable: false };
    answer = () => assert.fail('asked');
    let returned = 0;
    const end = transport().onReturn(() => returned++);
    const change = (next: ApiBackend | undefined): void => {
      known = next;
      for (const listener of listeners) listener();
    };
    assert.ok(isApiError(await failureOf(list()), 'ServiceUnavailable'));
    assert.ok(isApiError(await failureOf(watch()), 'ServiceUnavailable'));
    change(undefined);
    assert.ok(isApiError(await failureOf(list()), 'ServiceUnavailable'));
    change(backend);
    change(backend);
    assert.equal(returned, 1);
    end();
    assert.equal(listeners.size, 0);
  });
});
