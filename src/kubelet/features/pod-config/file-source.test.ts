import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { RecordingLog } from '../../../base/testing/recording-log.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { FileSource } from './file-source.ts';
import { LastGoodManifests } from './last-good.ts';
import { ManifestObjects } from './manifest-objects.ts';

const podText = (name: string, image = 'a'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers: [{name: c, image: ${image}}]\n`;
const PERIOD_MS = 20_000;
const DIR = '/etc/manifests';

interface Bench {
  readonly clock: FakeClock;
  readonly files: FakeHostFiles;
  readonly log: RecordingLog;
  readonly source: FileSource;
  readonly objects: ManifestObjects;
  /** Every emission, `name=image`, with `!` if it is incomplete. */
  readonly emitted: string[];
  readonly last: () => string;
}

function bench(
  options: {
    path?: string;
    standalone?: boolean;
    mayReference?: boolean;
    lastGood?: boolean;
    clock?: FakeClock;
    files?: FakeHostFiles;
  } = {},
): Bench {
  const { path = DIR, standalone = true, clock = new FakeClock(), lastGood = false } = options;
  const files = options.files ?? new FakeHostFiles(clock);
  const log = recordingLog();
  const objects = new ManifestObjects();
  const emitted: string[] = [];
  const source = new FileSource({
    path,
    periodMs: PERIOD_MS,
    rules: {
      nodeName: 'n',
      standalone,
      mayReference: options.mayReference ?? false,
      validate: (pod) =>
        pod.spec.containers[0]?.image === 'BAD'
          ? [{ field: 'spec.containers[0].image', message: 'Invalid value' }]
          : [],
    },
    files,
    clock,
    random: seededRandom(1),
    log,
    objects,
    ...(lastGood ? { lastGood: new LastGoodManifests({ folder: '/root/last-good', files, clock, log }) } : {}),
    setPods: (pods, { complete }) =>
      emitted.push(
        `${pods.map((pod) => `${pod.metadata.name.replace(/-n$/, '')}=${pod.spec.containers[0]?.image}`).join(' ')}${complete ? '' : ' !'}`,
      ),
  });
  return { clock, files, log, source, objects, emitted, last: () => emitted.at(-1) ?? '(nothing)' };
}

async function started(
  files: Readonly<Record<string, string>>,
  options: Parameters<typeof bench>[0] = {},
): Promise<Bench> {
  const made = bench(options);
  await made.files.makeDirectory(DIR, 0o755);
  for (const [name, text] of Object.entries(files)) await made.files.writeFile(`${DIR}/${name}`, text, 0o644);
  await made.clock.advance(1_000);
  made.source.start();
  await made.clock.settle();
  return made;
}

const errorLines = (log: RecordingLog): string[] =>
  log.lines.filter((line) => line.level === 'error').map((line) => String(line.fields['problem']));

test('a folder is read sorted, without dot-files and folders, and all is reported at once', async () => {
  const made = await started({ 'b.yaml': podText('b'), 'a.yaml': podText('a'), '.hidden.yaml': podText('hidden') });
  await made.files.makeDirectory(`${DIR}/sub`, 0o755);
  assert.deepEqual(made.emitted, ['a=a b=a']);
  await made.clock.advance(PERIOD_MS);
  assert.match(made.source.problems()[0]?.message ?? '', /is a directory, not recursing/);
  assert.deepEqual(made.emitted, ['a=a b=a']);
});

test('a missing path is an empty list, and a file that appears later is read on its event', async () => {
  const made = bench();
  await made.files.makeDirectory('/etc', 0o755);
  made.source.start();
  await made.clock.settle();
  assert.deepEqual(made.emitted, ['']);
  await made.files.makeDirectory(DIR, 0o755);
  await made.clock.settle();
  await made.files.writeFileAtomic(`${DIR}/a.yaml`, podText('a'), 0o644);
  await made.clock.settle();
  assert.equal(made.last(), 'a=a');
});

test('a file renamed into place acts at once, without any timer', async () => {
  const made = await started({});
  await made.files.writeFileAtomic(`${DIR}/a.yaml`, podText('a'), 0o644);
  await made.clock.settle();
  assert.equal(made.last(), 'a=a');
});

test('a file being written is read only once it is stable', async () => {
  const made = await started({});
  const text = podText('a');
  for (let end = 10; end < text.length + 10; end += 10) {
    await made.files.writeFile(`${DIR}/a.yaml`, text.slice(0, end), 0o644);
    await made.clock.advance(15);
  }
  assert.deepEqual([made.emitted, errorLines(made.log)], [[''], []]);
  await made.clock.advance(20);
  assert.deepEqual([made.last(), errorLines(made.log)], ['a=a', []]);
});

test('a file that is written continuously is read all the same', async () => {
  const made = await started({});
  for (let round = 0; round < 200; round++) {
    await made.files.writeFile(`${DIR}/a.yaml`, `${podText('a')}# ${round}\n`, 0o644);
    await made.clock.advance(15);
  }
  assert.equal(made.last(), 'a=a');
});

test('a half-written file that parses and lacks a pod does not remove that pod', async () => {
  const both = `${podText('a')}---\n${podText('b')}`;
  const made = await started({ 'x.yaml': both });
  await made.files.writeFile(`${DIR}/x.yaml`, podText('a'), 0o644);
  await made.clock.advance(500);
  await made.files.writeFile(`${DIR}/x.yaml`, both, 0o644);
  await made.clock.advance(PERIOD_MS * 2);
  assert.deepEqual(made.emitted, ['a=a b=a']);
});

test('a pod removed from a file goes after one stable second if written in place, and at once if renamed', async () => {
  const both = `${podText('a')}---\n${podText('b')}`;
  const made = await started({ 'x.yaml': both });
  await made.files.writeFile(`${DIR}/x.yaml`, podText('a'), 0o644);
  await made.clock.advance(900);
  assert.equal(made.last(), 'a=a b=a');
  await made.clock.advance(200);
  assert.equal(made.last(), 'a=a');
  await made.files.writeFileAtomic(`${DIR}/x.yaml`, podText('b'), 0o644);
  await made.clock.settle();
  assert.equal(made.last(), 'b=a');
});

test('a broken file delays no other and keeps its own last good version running', async () => {
  const made = await started({ 'a.yaml': podText('a'), 'b.yaml': podText('b') });
  await made.files.writeFileAtomic(`${DIR}/a.yaml`, 'kind: [', 0o644);
  await made.files.writeFileAtomic(`${DIR}/b.yaml`, podText('b', 'new'), 0o644);
  await made.clock.settle();
  assert.equal(made.last(), 'a=a b=new');
  assert.deepEqual(
    made.source.problems().map((problem) => [problem.file, problem.line]),
    [['/etc/manifests/a.yaml', 1]],
  );
  await made.files.writeFileAtomic(`${DIR}/a.yaml`, podText('a', 'fixed'), 0o644);
  await made.clock.settle();
  assert.deepEqual([made.last(), made.source.problems()], ['a=fixed b=new', []]);
});

test('a rejected pod is a problem with file and line, logged once and not each period', async () => {
  const made = await started({ 'a.yaml': podText('a', 'BAD'), 'b.yaml': podText('b') });
  await made.clock.advance(PERIOD_MS * 5);
  assert.equal(made.last(), 'b=a');
  assert.deepEqual(errorLines(made.log), [
    '/etc/manifests/a.yaml:5:26: spec.containers[0].image: pod default/a: Invalid value',
  ]);
});

test('an invalid object does not delay new valid ones in the same file', async () => {
  const made = await started({ 'x.yaml': `${podText('a', 'BAD')}---\n${podText('b')}` });
  assert.equal(made.last(), 'b=a');
  await made.files.writeFileAtomic(`${DIR}/x.yaml`, `${podText('a', 'ok')}---\n${podText('b', 'BAD')}`, 0o644);
  await made.clock.settle();
  assert.equal(made.last(), 'b=a a=ok');
});

test('an emptied file is an error and removes nothing; a deleted one does', async () => {
  const made = await started({ 'a.yaml': podText('a') });
  await made.files.writeFile(`${DIR}/a.yaml`, '', 0o644);
  await made.clock.advance(5_000);
  assert.deepEqual([made.last(), made.source.problems().length], ['a=a', 1]);
  await made.files.remove(`${DIR}/a.yaml`);
  await made.clock.advance(20);
  assert.deepEqual([made.last(), made.source.problems()], ['', []]);
});

test('an editor that moves the old file away before the new one is in place changes nothing', async () => {
  const made = await started({ 'a.yaml': podText('a') });
  await made.files.rename(`${DIR}/a.yaml`, `${DIR}/.a.yaml.swp`);
  await made.clock.advance(5);
  await made.files.writeFile(`${DIR}/a.yaml`, podText('a'), 0o644);
  await made.clock.advance(PERIOD_MS);
  assert.deepEqual(made.emitted, ['a=a']);
});

test('deleting and recreating a file removes its pods and adds them again, however fast', async () => {
  const made = await started({ 'a.yaml': podText('a'), 'b.yaml': podText('b') });
  await made.files.remove(`${DIR}/a.yaml`);
  await made.files.writeFile(`${DIR}/a.yaml`, podText('a'), 0o644);
  await made.clock.advance(PERIOD_MS);
  assert.deepEqual(made.emitted, ['a=a b=a', 'b=a', 'a=a b=a']);
  await made.files.remove(`${DIR}/a.yaml`);
  await made.files.writeFile(`${DIR}/a.yaml`, podText('a', 'other'), 0o644);
  await made.clock.advance(PERIOD_MS);
  assert.deepEqual(made.emitted.slice(3), ['a=other b=a']);
});

test('of two files with the same pod the first is used and the other reported; it replaces the first when that is removed', async () => {
  const made = await started({ 'a.yaml': podText('web', 'one'), 'b.yaml': podText('web', 'two') });
  assert.equal(made.last(), 'web=one');
  assert.deepEqual(
    made.source.problems().map((problem) => problem.file),
    ['/etc/manifests/b.yaml'],
  );
  await made.files.remove(`${DIR}/a.yaml`);
  await made.clock.advance(20);
  assert.deepEqual([made.last(), made.source.problems()], ['web=two', []]);
});

test('a duplicate is logged once, not each time its file is read', async () => {
  const made = await started({ 'a.yaml': podText('web', 'one'), 'b.yaml': podText('web', 'two') });
  for (const image of ['three', 'four']) {
    await made.files.writeFile(`${DIR}/b.yaml`, podText('web', image), 0o644);
    await made.clock.advance(2_000);
  }
  assert.deepEqual(
    made.log.lines.filter((line) => /manifest/.test(line.message)).map((line) => line.level),
    ['error'],
  );
});

test('a dangling link is reported and its pod removed, until the file is back', async () => {
  const made = await started({ 'a.yaml': podText('a') });
  await made.files.makeDirectory('/elsewhere', 0o755);
  await made.files.writeFile('/elsewhere/b.yaml', podText('b'), 0o644);
  await made.files.symlink('/elsewhere/b.yaml', `${DIR}/b.yaml`);
  await made.clock.advance(PERIOD_MS * 2);
  assert.equal(made.last(), 'a=a b=a');
  await made.files.remove('/elsewhere/b.yaml');
  await made.clock.advance(PERIOD_MS * 2);
  assert.equal(made.last(), 'a=a');
  assert.deepEqual(errorLines(made.log), ['/etc/manifests/b.yaml: is a link to a file that does not exist']);
  await made.files.writeFile('/elsewhere/b.yaml', podText('b', 'c'), 0o644);
  await made.clock.advance(PERIOD_MS * 2);
  assert.deepEqual([made.last(), made.source.problems()], ['a=a b=c', []]);
});

test('fifos, sockets and huge files are skipped with a message and never opened', async () => {
  const made = bench();
  await made.files.makeDirectory(DIR, 0o755);
  made.files.seed({ [`${DIR}/pipe`]: 'fifo', [`${DIR}/sock`]: 'socket' }, true);
  made.files.seed({ [`${DIR}/huge.yaml`]: '#'.repeat(10 * 1024 * 1024 + 1), [`${DIR}/a.yaml`]: podText('a') });
  made.source.start();
  await made.clock.settle();
  assert.equal(made.last(), 'a=a');
  assert.deepEqual(
    made.source.problems().map((problem) => problem.message),
    ['is larger than 10485760 bytes', 'is a fifo, not a regular file', 'is a socket, not a regular file'],
  );
  assert.deepEqual(
    made.files.calls.filter((call) => call.startsWith('read')),
    [`readText ${DIR}/a.yaml`],
  );
});

test('a file on a dead mount delays the others only briefly, and its pods are added when it answers', async () => {
  const made = bench();
  await made.files.makeDirectory(DIR, 0o755);
  made.files.seed({ [`${DIR}/a.yaml`]: podText('a'), [`${DIR}/b.yaml`]: podText('b') });
  const release = made.files.hang(`${DIR}/a.yaml`);
  made.source.start();
  await made.clock.advance(60);
  assert.equal(made.last(), 'b=a !');
  await made.files.writeFileAtomic(`${DIR}/c.yaml`, podText('c'), 0o644);
  await made.clock.advance(60);
  assert.equal(made.last(), 'b=a c=a !');
  await made.clock.advance(10_000);
  assert.match(made.source.problems()[0]?.message ?? '', /took longer/);
  const calls = made.files.calls.filter((call) => call.endsWith('a.yaml')).length;
  await made.clock.advance(PERIOD_MS * 2);
  assert.equal(
    made.files.calls.filter((call) => call.endsWith('a.yaml')).length,
    calls,
    'no second call is sent after one that hangs',
  );
  release();
  await made.clock.advance(PERIOD_MS);
  assert.equal(made.last(), 'a=a b=a c=a');
});

test('an unreadable file delays the clean-up for a minute at most', async () => {
  const made = bench();
  await made.files.makeDirectory(DIR, 0o755);
  made.files.seed({ [`${DIR}/a.yaml`]: podText('a') });
  made.files.failIo(`${DIR}/a.yaml`);
  made.source.start();
  await made.clock.advance(50_000);
  assert.equal(made.last(), ' !');
  await made.clock.advance(30_000);
  assert.equal(made.last(), '');
});

test('only files whose stamp changed are read again by the period', async () => {
  const made = await started({ 'a.yaml': podText('a'), 'b.yaml': podText('b') });
  await made.clock.advance(PERIOD_MS);
  made.files.calls.length = 0;
  made.files.seed({ [`${DIR}/b.yaml`]: podText('b', 'silently') });
  await made.clock.advance(PERIOD_MS);
  assert.deepEqual(
    [made.last(), made.files.calls.filter((call) => call.startsWith('read'))],
    ['a=a b=silently', [`readText ${DIR}/b.yaml`]],
  );
});

test('the watch is restored when the folder is removed and recreated', async () => {
  const made = await started({ 'a.yaml': podText('a') });
  await made.files.removeTree(DIR);
  await made.clock.advance(100);
  assert.equal(made.last(), '');
  await made.files.makeDirectory(DIR, 0o755);
  await made.clock.settle();
  await made.files.writeFileAtomic(`${DIR}/a.yaml`, podText('a', 'back'), 0o644);
  await made.clock.settle();
  assert.equal(made.last(), 'a=back');
});

test('a link to a folder is watched at its target', async () => {
  const made = bench({ path: '/etc/link' });
  await made.files.makeDirectory(DIR, 0o755);
  await made.files.symlink(DIR, '/etc/link');
  made.source.start();
  await made.clock.settle();
  await made.files.writeFileAtomic(`${DIR}/a.yaml`, podText('a'), 0o644);
  await made.clock.settle();
  assert.equal(made.last(), 'a=a');
});

test('a file created before the watch was active is found by a second check', async () => {
  const made = await started({});
  made.files.seed({ [`${DIR}/a.yaml`]: podText('a') });
  await made.clock.advance(150);
  assert.equal(made.last(), 'a=a');
});

test('a single file is watched through renames over it', async () => {
  const made = await started({ 'one.yaml': podText('a'), 'other.yaml': podText('other') }, { path: `${DIR}/one.yaml` });
  assert.equal(made.last(), 'a=a');
  for (const image of ['b', 'c']) {
    await made.files.writeFileAtomic(`${DIR}/one.yaml`, podText('a', image), 0o644);
    await made.clock.settle();
    assert.equal(made.last(), `a=${image}`);
  }
});

test('ConfigMaps and Secrets of the folder can be looked up, follow changes and go with their file', async () => {
  const made = await started({
    'm.yaml':
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {k: v1}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: x}\nstringData: {k: word}\n',
  });
  const changes: string[] = [];
  made.objects.onChange((change) => changes.push(`${change.kind} ${change.namespace}/${change.name}`));
  assert.deepEqual(
    [made.objects.configMap('default', 'm')?.data, made.objects.secret('x', 's')?.data],
    [{ k: 'v1' }, { k: 'd29yZA==' }],
  );
  await made.files.writeFileAtomic(
    `${DIR}/m.yaml`,
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {k: v2}\n',
    0o644,
  );
  await made.clock.settle();
  assert.deepEqual(
    [made.objects.configMap('default', 'm')?.data, made.objects.secret('x', 's'), changes],
    [{ k: 'v2' }, undefined, ['ConfigMap default/m', 'Secret x/s']],
  );
});

test('a cluster-scoped object has no namespace, and an invalid object is rejected in the words of the API server', async () => {
  const classText = (handler: string): string =>
    `apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: r}\nhandler: ${handler}\n`;
  const made = await started({
    'r.yaml': classText('runc'),
    'bad.yaml': 'apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: x}\nspec: {ports: [{port: 0}]}\n',
  });
  const changes: string[] = [];
  made.objects.onChange((change) => changes.push(`${change.kind} '${change.namespace}' ${change.name}`));
  assert.deepEqual(
    [made.objects.get('RuntimeClass', '', 'r')?.handler, made.objects.list('Service', '')],
    ['runc', []],
  );
  assert.match(
    errorLines(made.log).join('\n'),
    /bad\.yaml:4:17: spec\.ports\[0\]\.port: Service x\/s: Invalid value: 0: must be between 1 and 65535, inclusive/,
  );
  await made.files.writeFileAtomic(`${DIR}/r.yaml`, classText('runsc'), 0o644);
  await made.clock.settle();
  assert.deepEqual([made.objects.get('RuntimeClass', '', 'r')?.handler, changes], ['runsc', ["RuntimeClass '' r"]]);
});

test('a list covers one namespace or all', async () => {
  const service = (namespace: string): string =>
    `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ${namespace}}, spec: {ports: [{port: 80}]}}`;
  const made = await started({ 's.yaml': `${service('one')}\n---\n${service('two')}\n` });
  const namespaces = (namespace: string): string[] =>
    made.objects.list('Service', namespace).map((each) => each.metadata.namespace);
  assert.deepEqual([namespaces('one'), namespaces(''), namespaces('three')], [['one'], ['one', 'two'], []]);
});

test('in a cluster the folder may contain neither ConfigMaps nor pods that use them', async () => {
  const uses = `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  volumes: [{name: v, secret: {secretName: s}}]\n  containers: [{name: c, image: a}]\n`;
  const made = await started(
    { 'a.yaml': uses, 'm.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n' },
    { standalone: false },
  );
  assert.deepEqual([made.last(), made.objects.configMap('default', 'm')], ['', undefined]);
  assert.match(errorLines(made.log).join('\n'), /a\.yaml:1:1: pod default\/a: static pods may not reference secrets/);
  const allowed = await started({ 'a.yaml': uses }, { standalone: false, mayReference: true });
  assert.notEqual(allowed.last(), '', 'they may with the gate PreventStaticPodAPIReferences off');
});

test('a manifest broken while the agent was down keeps its last good version', async () => {
  const first = await started({ 'a.yaml': podText('a'), 'b.yaml': podText('b') }, { lastGood: true });
  await first.clock.advance(6_000);
  await first.source.stop();
  await first.files.writeFile(`${DIR}/a.yaml`, 'kind: [', 0o644);
  await first.files.remove(`${DIR}/b.yaml`);
  const second = bench({ lastGood: true, clock: first.clock, files: first.files });
  second.source.start();
  await second.clock.settle();
  assert.deepEqual([second.emitted, second.source.problems().length], [['a=a'], 1]);
});

test('a damaged record of a manifest is not used', async () => {
  const first = await started({ 'a.yaml': podText('a') }, { lastGood: true });
  await first.source.stop();
  const [name] = await first.files.list('/root/last-good');
  await first.files.writeFile(`/root/last-good/${name}`, `${'0'.repeat(64)}\n${podText('evil')}`, 0o600);
  await first.files.writeFile(`${DIR}/a.yaml`, 'kind: [', 0o644);
  const second = bench({ lastGood: true, clock: first.clock, files: first.files });
  second.source.start();
  await second.clock.settle();
  assert.deepEqual(second.emitted, ['']);
});

test('after stop nothing is emitted and no timer is left', async () => {
  const made = await started({ 'a.yaml': podText('a') });
  await made.files.writeFile(`${DIR}/a.yaml`, podText('a', 'b'), 0o644);
  await made.clock.settle();
  await made.source.stop();
  await made.clock.advance(PERIOD_MS * 2);
  assert.deepEqual([made.emitted, made.clock.armedTimers], [['a=a'], 0]);
});
