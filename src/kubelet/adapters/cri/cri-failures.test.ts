import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorKind, KubeletError, type ErrorKind } from '../../../base/errors.ts';
import { classified, classifyFailure } from './cri-failures.ts';

const unknown = (text: string): KubeletError =>
  new KubeletError('Internal', `rpc error: code = Unknown desc = ${text}`);

test('what runtimes say under the code Unknown gets the kind it means', () => {
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

test('a taken name is one with containerd 2 too, which calls it a failed precondition; other failed preconditions stay what they are', () => {
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

test('a failure that has a kind keeps it, and one that gets another keeps its words', async () => {
  const gone = new KubeletError('Unavailable', 'name is reserved');
  await assert.rejects(classified('CreateContainer', Promise.reject(gone)), (error) => error === gone);
  await assert.rejects(classified('CreateContainer', Promise.reject(unknown('name "x" is reserved for "y"'))), {
    kind: 'AlreadyExists',
    message: 'rpc error: code = Unknown desc = name "x" is reserved for "y"',
    op: 'CreateContainer',
  });
});
