import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { FileSource } from './file-source.ts';

const DIR = '/etc/manifests';
const PERIOD_MS = 20_000;
/**
 * The time after which a removed folder is noticed, even if it is replaced repeatedly. A file that exists again,
 * broken, before that has kept its last good version.
 */
const NOTICED_MS = 3_500;
const podText = (name: string, image: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: ${image}}]}\n`;

type Action =
  | { kind: 'write' | 'replace'; file: string; image: string }
  | { kind: 'break' | 'truncate' | 'remove' | 'fifo' | 'silent'; file: string }
  | { kind: 'wait'; ms: number }
  | { kind: 'folder' };

const file = fc.constantFrom('a', 'b', 'c');
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('write' as const, 'replace' as const),
    file,
    image: fc.constantFrom('one', 'two', 'three'),
  }),
  fc.record({
    kind: fc.constantFrom('break' as const, 'truncate' as const, 'remove' as const, 'fifo' as const, 'silent' as const),
    file,
  }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 1_500 }) }),
  fc.constant({ kind: 'folder' as const }),
);

/** The possible final states of each file: its last good image, or nothing. */
class Expectation {
  readonly images = new Map<string, string>();
}

async function perform(files: FakeHostFiles, step: Action, expected: Expectation): Promise<void> {
  if (step.kind === 'wait') return;
  if (step.kind === 'folder') {
    await files.removeTree(DIR);
    await files.makeDirectory(DIR, 0o755);
    expected.images.clear();
    return;
  }
  const path = `${DIR}/${step.file}.yaml`;
  const isFifo = (await files.lstat(path))?.type === 'fifo';
  switch (step.kind) {
    case 'write':
    case 'replace':
      if (isFifo) await files.remove(path);
      if (step.kind === 'write') await files.writeFile(path, podText(step.file, step.image), 0o644);
      else await files.writeFileAtomic(path, podText(step.file, step.image), 0o644);
      expected.images.set(step.file, step.image);
      return;
    case 'silent':
      files.seed({ [path]: podText(step.file, 'silent') });
      expected.images.set(step.file, 'silent');
      return;
    case 'break':
      return isFifo ? undefined : files.writeFileAtomic(path, 'kind: [ : : *x', 0o644);
    case 'truncate':
      return isFifo ? undefined : files.writeFile(path, podText(step.file, 'half').slice(0, 30), 0o644);
    case 'fifo':
      files.seed({ [path]: 'fifo' }, true);
      return;
    case 'remove':
      await files.remove(path);
      expected.images.delete(step.file);
  }
}

test('after any sequence of changes at any speed, each file ends as its last good version or removed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (steps) => {
      const clock = new FakeClock();
      const files = new FakeHostFiles(clock);
      await files.makeDirectory(DIR, 0o755);
      let shown = new Map<string, string>();
      const good = new Set<string>();
      const source = new FileSource({
        path: DIR,
        periodMs: PERIOD_MS,
        rules: { nodeName: 'n', standalone: true, validate: () => [] },
        files,
        clock,
        random: seededRandom(1),
        log: recordingLog(),
        setPods: (pods) => {
          shown = new Map(
            pods.map((pod) => [pod.metadata.name.replace(/-n$/, ''), String(pod.spec.containers[0]?.image)]),
          );
          for (const image of shown.values()) good.add(image);
        },
      });
      source.start();
      const expected = new Expectation();
      for (const step of steps) {
        await perform(files, step, expected);
        // A version that was overwritten within this pause may be missed, and then it was never good: see below.
        await clock.advance(step.kind === 'wait' ? step.ms : step.kind === 'folder' ? NOTICED_MS : 25);
      }
      // A version that no check could read is not known. Wait until the watch and the period find the last version of
      // each file.
      await clock.advance(2 * PERIOD_MS + 2_000);
      for (const [name, image] of shown)
        assert.equal(expected.images.has(name), true, `${name}=${image} should be gone`);
      for (const name of expected.images.keys()) {
        const type = (await files.lstat(`${DIR}/${name}.yaml`))?.type;
        const text = files.peek(`${DIR}/${name}.yaml`) ?? '';
        const intact = type === 'file' && /image: (one|two|three|silent)/.test(text);
        if (intact) assert.equal(shown.get(name), expected.images.get(name));
      }
      assert.equal(good.has('half'), false);
      await source.stop();
      assert.equal(clock.armedTimers, 0);
    }),
    { numRuns: 150 },
  );
});
