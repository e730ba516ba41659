import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus } from '../../../api/core/pod-status.ts';
import { limitMessages } from './message-limit.ts';

const pod = (regular: number, init = 0): Pod =>
  ({
    metadata: { name: 'p', namespace: 'd', uid: 'u' },
    spec: {
      containers: Array.from({ length: regular }, (_, index) => ({ name: `c${index}` })),
      initContainers: Array.from({ length: init }, (_, index) => ({ name: `i${index}` })),
    },
  }) as unknown as Pod;
const ended = (message: string): ContainerStatus => ({
  name: 'c0',
  ready: false,
  restartCount: 1,
  image: '',
  imageID: '',
  state: { terminated: { exitCode: 1, message } },
  lastState: { terminated: { exitCode: 1, message } },
});

test('the containers of a pod share 12 KiB for their messages in equal parts', () => {
  const [status] = limitMessages(pod(6, 6), [ended('x'.repeat(4096))]);
  assert.deepEqual(
    [status?.state?.terminated?.message?.length, status?.lastState?.terminated?.message?.length],
    [1024, 1024],
  );
});

test('a message that fits, and a status without one, stay as they are', () => {
  const statuses = [ended('x'.repeat(4096)), { ...ended(''), state: { running: {} }, lastState: {} }];
  const same = limitMessages(pod(3), statuses);
  assert.deepEqual(
    same.map((status, index) => status === statuses[index]),
    [true, true],
  );
});

test('truncation splits no character', () => {
  const [status] = limitMessages(pod(12), [ended(`x${'ü'.repeat(1000)}`)]);
  assert.equal(status?.state?.terminated?.message, `x${'ü'.repeat(511)}`);
});
