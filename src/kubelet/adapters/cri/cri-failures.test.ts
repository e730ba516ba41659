import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorKind } from '../../../base/errors.ts';
import { errorKind, KubeletError } from '../../../base/errors.ts';
import { classified, classifyFailure } from './cri-failures.ts';

const unknown = (text: string): KubeletError =>
  new KubeletError('Internal', `rpc error: code = Unknown desc = ${text}`);

test('errors that runtimes send with the code Unknown get their proper kind', () => {
  const cases: [string, string, ErrorKind][] = [
    [
      'RunPodSandbox',
      'failed to reserve sandbox name "p_n_u_0": name "p_n_u_0" is reserved for "abc"',
      'AlreadyExists',
    ],
    [
      'CreateContainer',
      'failed to reserve container name "c_p_n_u_0": name "c_p_n_u_0" is reserved for "abc"',
      'AlreadyExists',
    ],
    ['CreateContainer', 'error reserving ctr name k8s_c_p_n_u_0 for id abc: name is reserved', 'AlreadyExists'],
    ['ContainerStatus', 'an error occurred when try to find container "abc": not found', 'NotFound'],
    ['ExecSync', 'command /bin/x timed out', 'Timeout'],
    ['ExecSync', 'failed to exec in container: timeout 1s exceeded', 'Timeout'],
    ['StartContainer', 'runc create failed: exec: "foo": executable file not found in $PATH: unknown', 'Internal'],
    ['StartContainer', 'the hook timed out', 'Internal'],
    ['StopContainer', 'anything else', 'Internal'],
  ];
  for (const [op, text, kind] of cases) assert.equal(errorKind(classifyFailure(op, unknown(text))), kind, text);
});

test('a name conflict is recognised with containerd 2 too, which sends FailedPrecondition; other failed preconditions are unchanged', () => {
  const failed = (text: string): unknown =>
    classifyFailure(
      'CreateContainer',
      new KubeletError('Conflict', `rpc error: code = FailedPrecondition desc = ${text}`),
    );
  assert.equal(
    errorKind(
      failed(
        'failed to reserve container name "c_p_n_u_0"; check if another CreateContainer request is in progress: name "c_p_n_u_0" is reserved for "abc"',
      ),
    ),
    'AlreadyExists',
  );
  for (const other of ['container "abc" is in CONTAINER_RUNNING state', 'cannot use sandbox: task: not found'])
    assert.equal(errorKind(failed(other)), 'Conflict', other);
});

test('an error with a kind keeps it, and one that gets another keeps its message', async () => {
  const gone = new KubeletError('Unavailable', 'name is reserved');
  await assert.rejects(classified('CreateContainer', Promise.reject(gone)), (error) => error === gone);
  await assert.rejects(classified('CreateContainer', Promise.reject(unknown('name "x" is reserved for "y"'))), {
    kind: 'AlreadyExists',
    message: 'rpc error: code = Unknown desc = name "x" is reserved for "y"',
    op: 'CreateContainer',
  });
});
