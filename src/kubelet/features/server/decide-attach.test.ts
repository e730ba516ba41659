import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { containerId, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, ContainerState } from '../../model/runtime-status.ts';
import { AttachHistory } from './attach-history.ts';
import { decideAttach } from './decide-attach.ts';
import type { AttachCase } from './decide-attach.ts';

const NOW = 1_000_000;
const NEW_KUBECTL = 'kubectl/v1.36.3 (linux/amd64) kubernetes/0f29094';
const OLD_KUBECTL = 'kubectl1.27/v1.27.16 (linux/amd64) kubernetes/cbb86e0';
const end = { inode: 7, bytes: 100 };

const container = (
  attempt: number,
  state: ContainerState,
  agoMs: { started?: number; finished?: number } = {},
): ContainerRuntimeStatus => ({
  id: containerId(`c${attempt}`),
  sandboxId: sandboxId('s'),
  name: 'c',
  attempt,
  state,
  createdAtMs: 1,
  startedAtMs: state === 'created' ? 0 : NOW - (agoMs.started ?? 500),
  finishedAtMs: state === 'exited' ? NOW - (agoMs.finished ?? 100) : 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: '',
  imageRef: '',
  imageId: '',
  logPath: '',
  labels: {},
  annotations: {},
});

/** Returns `what`, the container's attempt, and whether it continues after what the client has read. */
function decided(
  containers: readonly ContainerRuntimeStatus[],
  given: Partial<AttachCase> & { attached?: number; read?: { attempt: number; agoMs: number } } = {},
): string {
  const history = new AttachHistory();
  if (given.attached !== undefined) history.noteAttach(containerId(`c${given.attached}`));
  if (given.read !== undefined)
    history.noteRead(containerId(`c${given.read.attempt}`), { end, atMs: NOW - given.read.agoMs });
  const plan = decideAttach({ containers, isInteractive: true, userAgent: OLD_KUBECTL, nowMs: NOW, ...given, history });
  if (plan.what === 'nothing') return plan.what;
  return [plan.what, plan.container.attempt, ...('from' in plan && plan.from !== undefined ? ['after'] : [])].join(' ');
}

describe('an attachment to a container', () => {
  it('to a container that has just started gets its output from the start, the first time', () => {
    assert.equal(decided([container(0, 'running')]), 'start 0');
    assert.equal(decided([container(0, 'running')], { attached: 0 }), 'now 0');
    assert.equal(decided([container(0, 'running', { started: 31_000 })]), 'now 0');
    assert.equal(decided([container(0, 'unknown')]), 'now 0');
  });

  it('to a container without stdin gets new output only, unless its log was read for it', () => {
    assert.equal(decided([container(0, 'running')], { isInteractive: false }), 'now 0');
    assert.equal(
      decided([container(0, 'running')], {
        isInteractive: false,
        userAgent: NEW_KUBECTL,
        read: { attempt: 0, agoMs: 50 },
      }),
      'start 0 after',
    );
  });

  it('to a container that has just ended gets its output, to one that ended long ago nothing', () => {
    assert.equal(decided([container(0, 'exited')], { isInteractive: false }), 'log 0');
    assert.equal(decided([container(0, 'exited', { started: 9e5 })], { attached: 0 }), 'log 0');
    assert.equal(decided([container(0, 'exited', { finished: 31_000 })]), 'nothing');
    assert.equal(decided([]), 'nothing');
    assert.equal(decided([container(0, 'created')]), 'nothing');
  });

  it('continues after what a client has read that reads the log first', () => {
    assert.equal(
      decided([container(0, 'running')], { userAgent: NEW_KUBECTL, read: { attempt: 0, agoMs: 50 } }),
      'start 0 after',
    );
    assert.equal(
      decided([container(0, 'exited')], { userAgent: NEW_KUBECTL, read: { attempt: 0, agoMs: 50 } }),
      'log 0 after',
    );
    assert.equal(decided([container(0, 'exited')], { userAgent: '', read: { attempt: 0, agoMs: 50 } }), 'log 0 after');
    assert.equal(
      decided([container(0, 'exited')], { userAgent: NEW_KUBECTL, read: { attempt: 0, agoMs: 11_000 } }),
      'log 0',
    );
    assert.equal(
      decided([container(0, 'exited')], { userAgent: OLD_KUBECTL, read: { attempt: 0, agoMs: 50 } }),
      'log 0',
      'another client read it',
    );
  });

  it('attaches to the newest started run, or to the one whose log the client read', () => {
    assert.equal(decided([container(1, 'created'), container(0, 'exited')]), 'log 0');
    assert.equal(decided([container(1, 'running'), container(0, 'exited')]), 'start 1');
    assert.equal(
      decided([container(1, 'running'), container(0, 'exited')], {
        userAgent: NEW_KUBECTL,
        read: { attempt: 0, agoMs: 50 },
      }),
      'log 0 after',
    );
    assert.equal(
      decided([container(1, 'running'), container(0, 'exited')], {
        userAgent: NEW_KUBECTL,
        read: { attempt: 0, agoMs: 50 },
        attached: 0,
      }),
      'start 1',
    );
  });

  it('counts from the start or the end of the run, up to half a minute', () => {
    assert.equal(decided([container(0, 'running', { started: 30_000 })]), 'start 0');
    assert.equal(decided([container(0, 'running', { started: 30_001 })]), 'now 0');
    assert.equal(decided([container(0, 'exited', { finished: 30_000 })]), 'log 0');
    assert.equal(decided([container(0, 'exited', { finished: 30_001 })]), 'nothing');
  });

  it('counts a log as read by the client for ten seconds, and an ended run as its own for as long', () => {
    const read = (agoMs: number, finished = 100): string =>
      decided([container(1, 'running'), container(0, 'exited', { finished })], {
        userAgent: NEW_KUBECTL,
        read: { attempt: 0, agoMs },
      });
    assert.deepEqual([read(10_000), read(10_001)], ['log 0 after', 'start 1']);
    assert.deepEqual([read(50, 10_000), read(50, 10_001)], ['log 0 after', 'start 1']);
    assert.equal(
      decided([container(1, 'running'), container(0, 'running')], {
        userAgent: NEW_KUBECTL,
        read: { attempt: 0, agoMs: 50 },
      }),
      'start 1',
    );
  });

  it('takes a client that names no version for one that reads first', () => {
    const clients: readonly (readonly [string, boolean])[] = [
      ['kubectl/v1.36.0', true],
      ['kubectl/v1.37.2 (linux/amd64)', true],
      ['kubectl-1.35/v1.35.9', false],
      ['kubectl/v1.35.0', false],
      ['kubectl/v1.9', false],
      ['kubectl/v1.360000', true],
      ['my-kubectl/v1.27.0', true],
      ['python-requests/2.28', true],
    ];
    for (const [userAgent, reads] of clients)
      assert.equal(
        decided([container(0, 'exited')], { userAgent, read: { attempt: 0, agoMs: 50 } }),
        reads ? 'log 0 after' : 'log 0',
        userAgent,
      );
  });

  it('does not show the output of a run whose state is unclear', () => {
    assert.equal(decided([{ ...container(1, 'created'), startedAtMs: NOW - 5 }]), 'now 1');
    assert.equal(decided([container(1, 'unknown', { started: 5 })]), 'now 1');
  });
});
