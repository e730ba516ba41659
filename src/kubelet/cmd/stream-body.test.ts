// Tests HEAD requests for answers that are generated while they are read, over a real socket: nothing of them may stay
// open.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Hono } from 'hono';
import { listenUnix } from '../adapters/net/http-listen.ts';
import { createKubeletApp } from '../features/server/kubelet-app.ts';
import type { KubeletAppOptions, KubeletAppSources } from '../features/server/kubelet-app.ts';
import { createLocalApi } from '../features/server/local-api.ts';
import type { LocalApiSources } from '../features/server/local-api.ts';

const folder = mkdtempSync(join(tmpdir(), 'stream-body-'));
const closing: (() => Promise<void>)[] = [];
after(async () => {
  await Promise.all(closing.map((close) => close()));
  rmSync(folder, { recursive: true });
});

const switches = { debuggingHandlers: true, systemLogHandler: true, systemLogQuery: false } as KubeletAppOptions;

async function head(app: Hono, path: string): Promise<IncomingMessage> {
  const listening = await listenUnix(app, join(folder, `${closing.length}.sock`));
  closing.push(() => listening.close());
  const request = http.request({ socketPath: listening.address, method: 'HEAD', path, agent: false }).end();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  await once(answer.resume(), 'end');
  return answer;
}

describe('HEAD', () => {
  it('a HEAD request does not follow a log', async () => {
    const followed = Promise.withResolvers<AbortSignal>();
    const containerLog: KubeletAppSources['containerLog'] = (_target, _query, signal) => {
      followed.resolve(signal);
      return Promise.resolve({
        [Symbol.asyncIterator]: () => ({
          next: () =>
            new Promise((resolve) => signal.addEventListener('abort', () => resolve({ done: true, value: undefined }))),
        }),
      });
    };
    const answer = await head(
      createKubeletApp({ containerLog, checks: {} } as unknown as KubeletAppSources, switches),
      '/containerLogs/ns/p/c?follow=true',
    );
    assert.deepEqual(
      [answer.statusCode, answer.headers['content-type'], (await followed.promise).aborted],
      [200, 'text/plain; charset=utf-8', true],
    );
  });

  it('a HEAD request does not keep a file of the system open', async () => {
    const closed = Promise.withResolvers<void>();
    const file = {
      inode: 1,
      sizeBytes: () => Promise.resolve(1_000_000),
      read: (_at: number, length: number) => Promise.resolve(new Uint8Array(length)),
      close: () => Promise.resolve(closed.resolve()),
    };
    const systemLogs = { open: () => Promise.resolve({ kind: 'file', file }) };
    const answer = await head(
      createKubeletApp({ systemLogs, checks: {} } as unknown as KubeletAppSources, switches),
      '/logs/syslog',
    );
    assert.equal(answer.statusCode, 200);
    await closed.promise;
  });

  it('a HEAD request does not watch pods', async () => {
    let stops = 0;
    const sources = { pods: () => [], watch: () => () => void stops++, checks: {} };
    const answer = await head(createLocalApi(sources as unknown as LocalApiSources), '/api/watch');
    assert.deepEqual([answer.statusCode, stops], [200, 1]);
  });
});
