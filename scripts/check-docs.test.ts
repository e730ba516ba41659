import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import {
  anchorOf,
  checkDependencies,
  checkDocuments,
  checkLayerTable,
  checkLinks,
  checkNamedFiles,
  checkWords,
  debianPackages,
  npmDependencies,
  withoutFences,
} from './check-docs.ts';
import type { Finding, Repository } from './check-docs.ts';
import { parityOf, stateOf, worksRows } from './docs-works.ts';

const files: Readonly<Record<string, string>> = {
  'src/base/loop.ts': 'export function createLoop() {}',
  'docs/tour.md': '# A tour\n\n## Stop 1: the folder\n',
  'README.md': '',
};
const repository: Repository = {
  exists: (name) => name in files || name === 'src/base',
  existsByName: (name) => Object.keys(files).some((file) => path.basename(file) === name),
  read: (name) => files[name] ?? '',
};
const messages = (findings: readonly Finding[]): string[] => findings.map(({ line, message }) => `${line}: ${message}`);

test('a path in backticks that does not exist is found, with its line', () => {
  const text =
    'See `src/base/loop.ts`, `loop.ts` and `src/base`.\n\nNot `src/base/lop.ts` nor `lop.ts`; `dist/kubelet.js` is built, `/var/lib/kubelet` is elsewhere, `bin/kubelet pods` a command.';
  assert.deepEqual(messages(checkNamedFiles('README.md', text, repository)), [
    '3: src/base/lop.ts does not exist',
    '3: lop.ts does not exist',
  ]);
});

test('a name in brackets behind a source file must stand in it', () => {
  const text = '`src/base/loop.ts` (`createLoop`, `createLop`)';
  assert.deepEqual(messages(checkNamedFiles('README.md', text, repository)), ['1: src/base/loop.ts has no createLop']);
});

test('what stands in a fenced block is not checked, and lines keep their numbers', () => {
  assert.equal(withoutFences('a\n```\n`src/nothing.ts`\n```\nb'), 'a\n\n\n\nb');
});

test('relative links must lead to a file, and fragments to a heading', () => {
  const text =
    '[a](docs/tour.md) [b](docs/tour.md#stop-1-the-folder) [c](docs/tor.md) [d](docs/tour.md#stop-2) [e](https://example.com/x)';
  assert.deepEqual(messages(checkLinks('README.md', text, repository)), [
    '1: link to docs/tor.md: there is no docs/tor.md',
    '1: link to docs/tour.md#stop-2: no such heading',
  ]);
});

test('links are relative to the document they stand in', () => {
  assert.deepEqual(checkLinks('docs/tour.md', '[a](../README.md) [b](tour.md) [c](#a-tour)', repository), []);
});

test('anchors are made as on the web site that shows them', () => {
  assert.equal(anchorOf('Stop 3: `computePodActions`, the plan'), 'stop-3-computepodactions-the-plan');
});

test('a layer table that differs from the checker is found, whatever the order of names', () => {
  const text =
    '| Folder | Holds | May import |\n|---|---|---|\n| `base` | x | nothing |\n| `api` | x | base |\n| `up` | x | api, base |\n';
  assert.deepEqual(checkLayerTable('docs/a.md', text, { base: [], api: ['base'], up: ['base', 'api'] }), []);
  assert.deepEqual(
    messages(checkLayerTable('docs/a.md', text, { base: [], api: [], up: ['base', 'api'], cri: ['base'] })),
    ['1: layer table: api may import nothing', '1: layer table: cri may import base'],
  );
});

test('a dependency without a line, and a line without a dependency, are found', () => {
  const text =
    '| npm package | Why |\n|---|---|\n| `hono` | x |\n| `gone` | x |\n\n| Debian package | Why |\n|---|---|\n| `runc` | x |\n';
  assert.deepEqual(messages(checkDependencies('docs/d.md', text, { npm: ['hono', 'ws'], debian: ['runc'] })), [
    '1: ws has no line',
    '1: gone is not used any more',
  ]);
});

test('dependencies are read from package.json and the set-up script', () => {
  assert.deepEqual(
    npmDependencies('{"dependencies":{"a":"1"},"devDependencies":{"b":"1"},"optionalDependencies":{"c":"1"}}'),
    ['a', 'b', 'c'],
  );
  assert.deepEqual(
    debianPackages(
      'have x || need runc "starts"\nif y; then need runc "starts"; fi\n apt_try download busybox-static\n',
    ),
    ['runc', 'busybox-static'],
  );
});

test('words that do not belong in a document are found', () => {
  const host = ['registry', 'example', 'io'].join('.');
  assert.deepEqual(
    messages(
      checkWords('README.md', `fine\npull from ${host}/pause\nkubernetes.io~secret is fine, \`exec-session.ts\` too`),
    ),
    [`2: does not belong in a document: ${host}`],
  );
  assert.deepEqual(checkWords('README.md', '| `[sig-network] Services with session affinity` | passed |'), []);
});

test('every name the table of what works rests on is in the parity tables', () => {
  assert.deepEqual(
    worksRows.flatMap(({ rests }) => rests).filter((name) => parityOf(name) === undefined),
    [],
  );
});

test('an area works only if all it rests on does', () => {
  assert.equal(stateOf(['staticPodPath']), 'honoured');
  assert.equal(stateOf(['staticPodPath', 'no.such.field']), 'partly');
  assert.equal(stateOf(['no.such.field']), 'notYet');
});

test('the documents of this repository agree with it', () => {
  assert.deepEqual(checkDocuments(path.join(import.meta.dirname, '..')), []);
});
