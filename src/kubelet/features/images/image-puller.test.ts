import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { Image } from '../../ports/images.ts';
import type { TrackedAuth } from './credentials/keyring.ts';
import type { PullRequest } from './image-puller.ts';
import { ImagePuller } from './image-puller.ts';
import type { PullAccess } from './pull-access.ts';
import type { PullQueue } from './pull-queue.ts';

const auth = (username: string, password: string, uid?: string): TrackedAuth =>
  ({ username, password, hash: `hash of ${username}`, source: uid === undefined ? undefined : { uid } }) as TrackedAuth;

/** A runtime whose pulls end when the test says so, and a record of all calls. */
function setUp(given: { turn?: Promise<void>; begin?: Error; look?: Error } = {}) {
  const clock = new FakeClock();
  const log: string[] = [];
  const pulls: { end: (result: string | Error) => void; user: string; signal: AbortSignal }[] = [];
  const queue = {
    enter: async (registry: string) => {
      await given.turn;
      log.push(`enter ${registry}`);
      return () => log.push('leave');
    },
  } as unknown as PullQueue;
  const access = {
    begin: async (image: string) => {
      log.push(`begin ${image}`);
      if (given.begin !== undefined) throw given.begin;
    },
    succeeded: async (image: string, ref: string, used?: TrackedAuth) =>
      void log.push(`succeeded ${image} ${ref} ${used?.username ?? 'anonymous'}`),
    failed: async (image: string) => void log.push(`failed ${image}`),
  } as unknown as PullAccess;
  const image = { id: 'id' } as unknown as Image;
  const puller = new ImagePuller({
    clock,
    queue,
    access,
    runtime: {
      pullImage: (_image, settings, options) =>
        new Promise<string>((resolve, reject) => {
          const signal = options?.signal as AbortSignal;
          signal.addEventListener('abort', () => reject(new KubeletError('Aborted', 'stopped')), { once: true });
          const end = (result: string | Error): void => (typeof result === 'string' ? resolve(result) : reject(result));
          pulls.push({ end, user: settings.auth?.username ?? 'anonymous', signal });
        }),
      imageStatus: async () => {
        if (given.look !== undefined) throw given.look;
        return image;
      },
    },
  });
  const start = (changes: Partial<PullRequest> = {}) => {
    const phases: string[] = [];
    const stop = new AbortController();
    const request: PullRequest = {
      image: 'registry/web:1',
      requested: 'web:1',
      registry: 'registry',
      runtimeHandler: '',
      credentials: [],
      onPhase: (phase) => phases.push(phase),
      ...changes,
    };
    return { phases, stop: () => stop.abort(), result: puller.pull(request, stop.signal) };
  };
  return { clock, log, pulls, start, image };
}

const aborted = { kind: 'Aborted' };

describe('a pull', () => {
  it('waits for its turn, is on record before it begins, and says how long it took without the wait', async () => {
    let turn = (): void => undefined;
    const { clock, log, pulls, start, image } = setUp({ turn: new Promise<void>((resolve) => (turn = resolve)) });
    const { phases, result } = start();
    await clock.advance(5000);
    assert.deepEqual([phases, log, pulls.length], [['waiting'], [], 0]);
    turn();
    await clock.advance(700);
    assert.deepEqual([phases, pulls[0]?.user], [['waiting', 'pulling'], 'anonymous']);
    await clock.advance(300);
    pulls[0]?.end('sha256:1');
    assert.deepEqual(await result, { ok: true, imageRef: 'sha256:1', image, pullMs: 1000 });
    assert.deepEqual(log, ['enter registry', 'begin web:1', 'succeeded web:1 sha256:1 anonymous', 'leave']);
  });

  it('is not tried when it cannot be recorded', async () => {
    const { log, pulls, start } = setUp({ begin: new Error('disk full') });
    assert.deepEqual(await start().result, {
      ok: false,
      error: 'Failed to record image pull intent for container image "web:1": disk full',
    });
    assert.deepEqual([pulls.length, log], [0, ['enter registry', 'begin web:1', 'leave']]);
  });

  it('tries credentials in order, and records those that worked', async () => {
    const { clock, log, pulls, start } = setUp();
    const { result } = start({ credentials: [auth('a', 'secret-a'), auth('b', 'secret-b')] });
    await clock.settle();
    pulls[0]?.end(new Error('denied'));
    await clock.settle();
    pulls[1]?.end('sha256:1');
    assert.equal((await result).ok, true);
    assert.deepEqual([pulls.map(({ user }) => user), log[2]], [['a', 'b'], 'succeeded web:1 sha256:1 b']);
  });

  it('fails with each distinct error once, and without secrets', async () => {
    const { clock, log, pulls, start } = setUp();
    const credentials = [auth('a', 'pass word'), auth('b', 'abc'), auth('c', 'long-enough')];
    const { result } = start({ credentials });
    await clock.settle();
    pulls[0]?.end(new Error(`pass word, pass%20word and ${btoa('a:pass word')}`));
    await clock.settle();
    pulls[1]?.end(new Error('abc'));
    await clock.settle();
    pulls[2]?.end(new Error('abc'));
    assert.deepEqual(await result, { ok: false, error: '[[redacted], [redacted] and [redacted], abc]' });
    assert.deepEqual(log.slice(-2), ['failed web:1', 'leave']);
    const single = start();
    await clock.settle();
    pulls[3]?.end(new Error('no such image'));
    assert.deepEqual(await single.result, { ok: false, error: 'no such image' });
  });

  it('counts although the image cannot be read afterwards', async () => {
    const { clock, pulls, start } = setUp({ look: new Error('busy') });
    const { result } = start();
    await clock.settle();
    pulls[0]?.end('sha256:1');
    assert.deepEqual(await result, { ok: true, imageRef: 'sha256:1', image: undefined, pullMs: 0 });
    const stopped = setUp({ look: new KubeletError('Aborted', 'stopped') });
    const other = stopped.start();
    await stopped.clock.settle();
    stopped.pulls[0]?.end('sha256:1');
    await assert.rejects(other.result, aborted);
  });
});

describe('pods that need one image', () => {
  it('share a pull, which ends early only when all of them gave up', async () => {
    const { clock, log, pulls, start } = setUp();
    const [first, second] = [start(), start()];
    await clock.settle();
    assert.deepEqual([pulls.length, first.phases, second.phases], [1, ['waiting', 'pulling'], ['waiting', 'pulling']]);
    first.stop();
    await assert.rejects(first.result, aborted);
    assert.equal(pulls[0]?.signal.aborted, false);
    second.stop();
    await assert.rejects(second.result, aborted);
    assert.equal(pulls[0]?.signal.aborted, true);
    const third = start();
    await clock.settle();
    pulls[1]?.end('sha256:1');
    assert.equal((await third.result).ok, true);
    assert.deepEqual(
      log.filter((line) => line === 'leave' || line.startsWith('failed')),
      ['failed web:1', 'leave', 'leave'],
    );
  });

  it('share none that is over, or that has another name, handler or credentials', async () => {
    const { clock, pulls, start } = setUp();
    const asked = [
      start(),
      start({ requested: 'other' }),
      start({ image: 'other' }),
      start({ runtimeHandler: 'kata' }),
      start({ credentials: [auth('a', 'x')] }),
      start({ credentials: [auth('b', 'x')] }),
      start({ credentials: [auth('a', 'x', 'uid')] }),
    ];
    await clock.settle();
    assert.equal(pulls.length, asked.length);
    for (const { end } of pulls) end('sha256:1');
    await Promise.all(asked.map(({ result }) => result));
    await clock.settle();
    const later = start();
    await clock.settle();
    assert.equal(pulls.length, asked.length + 1);
    pulls.at(-1)?.end('sha256:1');
    await later.result;
  });

  it('begin nothing when they have given up before', async () => {
    const { clock, log, start } = setUp();
    const { stop, result } = start();
    stop();
    await assert.rejects(result, aborted);
    await clock.settle();
    assert.equal(log.includes('succeeded'), false);
  });
});
