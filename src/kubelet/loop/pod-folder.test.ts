import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { podUid } from '../model/ids.ts';
import { FakeHostFiles } from '../ports/testing/fake-host-files.ts';
import { makePodFolder } from './pod-folder.ts';

test('a pod has a folder for its volumes and one for plugins from the start and keeps them when it is synced again', async () => {
  const files = new FakeHostFiles(new FakeClock());
  for (let time = 0; time < 2; time++) await makePodFolder(files, '/var/lib/kubelet', podUid('u1'));
  assert.deepEqual((await files.list('/var/lib/kubelet/pods/u1')).toSorted(), ['plugins', 'volumes']);
});
