import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { aptOptions, debianSources, imageKey, mmdebstrapArguments, packagesOfSetup } from './vm-image.ts';
import { parseResult, probeArguments, qemuArguments } from './vm-machine.ts';
import { missingPrograms } from './vm-program.ts';
import { defaultFiles, vmStages } from './vm-stages.ts';
import { testFiles } from './vm-test.ts';

const root = path.join(import.meta.dirname, '..');

test('every test that asks for cgroup v2 or systemd runs in the machine unless files are named', () => {
  const asks = globSync('test/integration/**/*.test.ts', { cwd: root }).filter((file) =>
    /cgroup\.controllers|\/run\/systemd\/system|testCgroupDriver/.test(readFileSync(path.join(root, file), 'utf8')),
  );
  assert.ok(asks.length >= 5);
  assert.deepEqual(
    asks.filter((file) => !defaultFiles.includes(file)),
    [],
  );
  assert.deepEqual(
    defaultFiles.filter((file) => !existsSync(path.join(root, file))),
    [],
  );
});

test('files are named by their path and must be integration tests', () => {
  const only = (wanted: string) => (file: string) => file === wanted;
  const file = 'test/integration/csi.test.ts';
  assert.deepEqual(
    testFiles([], () => false),
    defaultFiles,
  );
  assert.deepEqual(testFiles([`./${file}`], only(file)), [file]);
  assert.match(String(testFiles([file], () => false)), /csi\.test\.ts is not a test in test\/integration/);
  assert.match(String(testFiles(['src/base/lookup.test.ts'], () => true)), /is not a test in/);
});

test('the files run with either cgroup driver, and with more patience where the processor is emulated', () => {
  const of = (isEmulated: boolean) =>
    vmStages({ files: ['a.test.ts'], isEmulated }).map(({ name, environment, command }) => [
      name,
      environment?.['KUBELET_TEST_CGROUP_DRIVER'],
      environment?.['KUBELET_TEST_PATIENCE'],
      command.at(-1),
    ]);
  assert.deepEqual(of(false), [
    ['cgroup-v2', 'cgroupfs', '1', 'a.test.ts'],
    ['systemd', 'systemd', '1', 'a.test.ts'],
  ]);
  assert.deepEqual(
    vmStages({ files: [], isEmulated: false, driver: 'systemd' }).map(({ name }) => name),
    ['systemd'],
  );
  assert.deepEqual(
    of(true).map((stage) => stage[2]),
    ['10', '10'],
  );
});

test('the packages for tests are those that the set-up installs', () => {
  assert.deepEqual(
    packagesOfSetup(
      'need() { # need PACKAGE WHY\nhave ctr || need containerd "why"\nhave runc || need runc "a"\nif x; then need runc "b"; fi',
    ),
    ['containerd', 'runc'],
  );
  const real = packagesOfSetup(readFileSync(path.join(root, 'scripts/setup-machine.sh'), 'utf8'));
  assert.ok(
    ['containerd', 'iptables', 'containernetworking-plugins'].every((name) => real.includes(name)),
    real.join(),
  );
});

const TARGETS = [
  'Packages Debian Debian bookworm http://mirror.test/debian/',
  'Packages Debian Debian bookworm-updates http://mirror.test/debian/',
  'Packages Debian Debian-Security bookworm-security http://mirror.test/debian-security/',
  'Translations Debian Debian bookworm http://mirror.test/debian/',
  'Packages other tools bookworm http://other.test/apt/',
];

test('package sources are those of the machine, of Debian only', () => {
  assert.deepEqual(debianSources(TARGETS.join('\n')), [
    'deb http://mirror.test/debian/ bookworm main',
    'deb http://mirror.test/debian/ bookworm-updates main',
    'deb http://mirror.test/debian-security/ bookworm-security main',
  ]);
});

test('a machine with another release of Debian lends its mirror; one without Debian has none', () => {
  const other = TARGETS.map((line) => line.replace('bookworm', 'trixie'));
  assert.deepEqual(debianSources(other.join('\n')), ['deb http://mirror.test/debian/ bookworm main']);
  assert.deepEqual(debianSources('Packages Ubuntu Ubuntu noble http://mirror.test/ubuntu/'), []);
  assert.deepEqual(debianSources(''), []);
});

test('what apt needs to reach its sources is handed on, and nothing else of its configuration', () => {
  const dump = [
    'APT "";',
    'Acquire "";',
    'Acquire::http "";',
    'Acquire::http::Proxy "http://proxy.test:3128/";',
    'Acquire::Check-Valid-Until "false";',
    'Acquire::Retries "3";',
    'Acquire::IndexTargets::deb "";',
    'DPkg::Post-Invoke:: "do-something";',
  ];
  assert.deepEqual(aptOptions(dump.join('\n')), [
    'Acquire::http::Proxy "http://proxy.test:3128/";',
    'Acquire::Check-Valid-Until "false";',
    'Acquire::Retries "3";',
  ]);
});

test('the disk is made of those packages from those sources', () => {
  const made = mmdebstrapArguments({
    target: '/t',
    sources: ['deb u s main'],
    packages: ['a', 'b'],
    options: ['O "1";'],
  });
  assert.deepEqual(made.slice(-5), ['--aptopt=O "1";', '--include=a,b', 'bookworm', '/t', 'deb u s main']);
});

test('a disk is made again when its packages or the code that makes it change', () => {
  const keys = [imageKey(['a'], 'code'), imageKey(['a', 'b'], 'code'), imageKey(['a'], 'other code')];
  assert.equal(new Set(keys).size, 3);
  assert.equal(imageKey(['a'], 'code'), keys[0]);
});

test('the machine has no network, leaves the disk as it is, and is as fast as its host lets it', () => {
  const of = (accelerator: 'kvm' | 'tcg'): string =>
    qemuArguments({
      image: { disk: '/c/a,b.img', kernel: '/c/k', initrd: '/c/i' },
      repository: '/r.img',
      console: '/console',
      result: '/result',
      accelerator,
    }).join(' ');
  assert.match(of('kvm'), /-nic none .*-accel kvm -cpu host -m 3G -smp 2 /);
  assert.match(of('tcg'), /-accel tcg,thread=multi -cpu max /);
  assert.match(of('tcg'), /file=\/c\/a,,b\.img,format=raw,if=virtio,snapshot=on /);
  assert.match(probeArguments('/k').join(' '), /-nic none .*-accel kvm .*-kernel \/k /);
});

test('the result is the exit code of the tests, and nothing where they did not end', () => {
  assert.deepEqual(['0\n', '1\n', '', '1', 'x\n'].map(parseResult), [0, 1, undefined, undefined, undefined]);
});

test('a missing program is named with the package that has it', () => {
  assert.equal(
    missingPrograms(['qemu-system-x86_64', 'mmdebstrap', 'mke2fs'], (program) => program === 'mke2fs'),
    'qemu-system-x86_64 and mmdebstrap not found: apt-get install --no-install-recommends qemu-system-x86 mmdebstrap',
  );
  assert.equal(
    missingPrograms(['mke2fs'], () => true),
    undefined,
  );
});
