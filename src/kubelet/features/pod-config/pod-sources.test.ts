import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { AcceptedManifests } from './accepted-manifests.ts';
import { podSourceNames } from './create-pod-sources.ts';
import type { PodSourceReader } from './pod-sources.ts';
import { PodSources } from './pod-sources.ts';

const broken = new Error('permission denied');

function fixture(readers: readonly Partial<PodSourceReader>[], accepted?: Partial<AcceptedManifests>) {
  const done: string[] = [];
  const sources = new PodSources({
    readers: readers.map((reader, index) => ({
      start: () => void done.push(`start ${index}`),
      stop: () => void done.push(`stop ${index}`),
      problems: () => [],
      ...reader,
    })),
    accepted: accepted as AcceptedManifests | undefined,
    rules: { nodeName: 'node', standalone: true, validate: () => [] },
    flush: async () => void done.push('flush'),
    log: recordingLog(),
  });
  return { sources, done };
}

describe('the sources of pods', () => {
  it('start without one that cannot be read, and show it as a problem', async () => {
    const { sources, done } = fixture([{ start: () => Promise.reject(broken) }, {}]);
    await sources.start();
    assert.deepEqual(done, ['start 1']);
    assert.deepEqual(sources.problems(), [
      {
        message: 'a source of pods cannot be read, its pods are left as they are: permission denied',
        blocking: true,
      },
    ]);
  });

  it('list the problems of manifests; a warning blocks nothing', () => {
    const { sources } = fixture([{ problems: () => [{ file: 'a.yaml', message: 'no name' }] }], {
      problems: () => [{ file: 'b.yaml', message: 'unknown field', severity: 'warning' }],
    });
    assert.deepEqual(sources.problems(), [
      { message: 'a.yaml: no name', blocking: true },
      { message: 'b.yaml: unknown field', blocking: false },
    ]);
  });

  it('save what they remember after the last of them has stopped', async () => {
    const { sources, done } = fixture([{}, {}]);
    await sources.stop();
    assert.deepEqual(done, ['stop 0', 'stop 1', 'flush']);
  });
});

describe('manifests over HTTP', () => {
  it('are accepted once those accepted earlier were read', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const accepted = { start: () => promise };
    const { sources } = fixture([], accepted);
    const started = sources.start();
    let isOpen = false;
    const opened = sources.accepted().then((manifests) => {
      isOpen = true;
      return manifests;
    });
    await Promise.resolve();
    assert.equal(isOpen, false);
    resolve();
    assert.equal(await opened, accepted);
    await started;
  });

  it('are not accepted when those accepted earlier cannot be read: a list without them would end their pods', async () => {
    const { sources } = fixture([{}], { start: () => Promise.reject(broken), problems: () => [] });
    await sources.start();
    assert.equal(await sources.accepted(), undefined);
  });

  it('are accepted although another source cannot be read', async () => {
    const accepted = { start: () => Promise.resolve() };
    const { sources } = fixture([{ start: () => Promise.reject(broken) }], accepted);
    await sources.start();
    assert.equal(await sources.accepted(), accepted);
  });
});

describe('the names of sources', () => {
  it('are those that the configuration sets', () => {
    const off = { config: { staticPodPath: '', staticPodUrl: '' }, manifestServer: false, standalone: true };
    assert.deepEqual(podSourceNames(off), []);
    assert.deepEqual(podSourceNames({ ...off, standalone: false }), ['api']);
    assert.deepEqual(
      podSourceNames({
        config: { staticPodPath: '/m', staticPodUrl: 'http://m' },
        manifestServer: true,
        standalone: false,
      }),
      ['file', 'http', 'server', 'api'],
    );
  });
});
