import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announceStart } from './announce-start.ts';

function events(version: 1 | 2): string[] {
  const said: string[] = [];
  announceStart({ nodeEvent: (type, reason) => void said.push(`${type} ${reason}`) }, { version });
  return said;
}

test('the node reports the start of the agent, and warns of cgroup v1 only where that is used', () => {
  assert.deepEqual(events(2), ['Normal Starting']);
  assert.deepEqual(events(1), ['Normal Starting', 'Warning CgroupV1']);
});
