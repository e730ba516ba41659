import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseNodeStorage } from './node-storage-flags.ts';

const parsed = (root: string) => parseNodeStorage(['--kubeconfig=/k', '--node-name=n', `--root=${root}`]);

it('the flags of kubelet-node-storage', () => {
  assert.deepEqual(parsed('/data/volumes/'), {
    kind: 'run',
    options: { kubeconfig: '/k', nodeName: 'n', root: '/data/volumes' },
  });
  assert.equal(parseNodeStorage(['--help']).kind, 'help');
});

it('a root that is not an absolute path, or that a shell would split into words, is refused', () => {
  for (const root of ['', '/', 'data', '/a b', '/a//b', '/a//', '/a/../b', '/a/.', '/a"b', "/a'b", '/a\\b', '/a\nb'])
    assert.equal(parsed(root).kind, 'error', root);
  assert.equal(parseNodeStorage(['--root=/data']).kind, 'error');
  assert.equal(parseNodeStorage(['--unknown']).kind, 'error');
});
