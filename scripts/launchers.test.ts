import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.join(import.meta.dirname, '..');
const files = [...readdirSync(path.join(root, 'bin')).map((name) => `bin/${name}`), 'scripts/up.sh', 'scripts/down.sh'];

test('every program starts Node without a thread that its end could wait for', () => {
  const starts = files.flatMap((file) =>
    readFileSync(path.join(root, file), 'utf8')
      .split('\n')
      .filter((line) => /^exec (-a \S+ )?("\$node"|\S+\/node) /.test(line))
      .map((line) => ({ file, line })),
  );
  assert.equal(starts.length, files.length - 1, 'one start a file, but for the plugin that calls another of them');
  assert.deepEqual(
    starts.filter(({ line }) => !line.includes(' --no-concurrent-sparkplug ')),
    [],
  );
});

test('every program has its own name in the list of processes, where Node would have its', () => {
  const unnamed = files.filter((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    return file.startsWith('bin/') && text.includes('exec ') && !/^exec -a "\$(self|name)" "\$node" /m.test(text);
  });
  assert.deepEqual(unnamed, ['bin/kubectl-explain_pod']);
});
