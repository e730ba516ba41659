import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_DATA_DIR } from './instance.ts';
import { parseCommandLine } from './options.ts';

describe('the command line of up', () => {
  it('a cluster in the usual place is what nobody has to ask for', () => {
    const { command, mode, dataDir, example, dns, serviceRouting, detach, agentArgs } = parseCommandLine(['up'], {});
    assert.deepEqual(
      [command, mode, dataDir, example, dns, serviceRouting, detach, agentArgs],
      ['up', 'cluster', DEFAULT_DATA_DIR, true, true, true, false, []],
    );
  });

  it('parts are left out, and flags of the agent handed on', () => {
    const { dns, serviceRouting, example, agentArgs, nodeName } = parseCommandLine(
      [
        'up',
        '--no-dns',
        '--no-service-routing',
        '--no-example',
        '--node-name',
        'Worker',
        '--node-labels',
        'a=b',
        '--kubelet-arg=--v=4',
        '--kubelet-arg=--max-pods=5',
      ],
      {},
    );
    assert.deepEqual(
      [dns, serviceRouting, example, agentArgs, nodeName],
      [false, false, false, ['--node-labels', 'a=b', '--v=4', '--max-pods=5'], 'worker'],
    );
  });

  it('the folder may come from the environment, and the flag counts more', () => {
    assert.equal(parseCommandLine(['up'], { KUBELET_TS_DATA: '/a' }).dataDir, '/a');
    assert.equal(parseCommandLine(['up', '--data', '/b'], { KUBELET_TS_DATA: '/a' }).dataDir, '/b');
  });

  for (const args of [
    ['--standalone', '--join', 'k'],
    ['--standalone', '--runtime-only'],
    ['--cgroup-driver', 'x'],
    ['--nonsense'],
  ]) {
    it(`${args.join(' ')} is refused as a mistake of whoever typed it`, () => {
      assert.throws(
        () => parseCommandLine(['up', ...args], {}),
        (error) => error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'),
      );
    });
  }
});
