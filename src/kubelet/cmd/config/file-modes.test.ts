import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guardedFiles, looseFile } from './file-modes.ts';

const root = { uid: 0, gid: 0 };

test('a file that others can read or write is named, with what it should have (CIS 4.1.5 to 4.1.10)', () => {
  const kubeconfig = { what: 'the kubeconfig', file: '/etc/k.conf', mostMode: 0o600 };
  for (const mode of [0o600, 0o400, 0o100600]) assert.equal(looseFile(kubeconfig, { mode, ...root }), undefined);
  assert.equal(
    looseFile(kubeconfig, { mode: 0o100644, ...root }),
    'the kubeconfig /etc/k.conf has mode 0644 and should have 0600 or less: anyone who can read or write it may gain the rights of the node',
  );
  assert.match(
    looseFile(kubeconfig, { mode: 0o600, uid: 1000, gid: 0 }) ?? '',
    /belongs to user 1000 and group 0 and should be root's/,
  );
  const authority = { what: 'the authority of clients', file: '/ca.crt', mostMode: 0o644 };
  assert.equal(looseFile(authority, { mode: 0o644, ...root }), undefined);
  assert.match(
    looseFile(authority, { mode: 0o664, uid: 0, gid: 5 }) ?? '',
    /has mode 0664 and should have 0644 or less, and belongs to user 0 and group 5/,
  );
});

test('files that are not configured are not checked', () => {
  assert.deepEqual(
    guardedFiles({ kubeconfig: '', bootstrapKubeconfig: '', config: '/c', clientCa: '', servingKey: '' }).map(
      ({ file }) => file,
    ),
    ['/c'],
  );
});
