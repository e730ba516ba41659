import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { asymmetric, dualSocket, machines, machineOf } from '../model/testing/machines.ts';
import { readMachineTopology } from './linux-machine-topology.ts';
import { writeSysTree } from './testing/sys-tree.ts';

describe('the topology of a machine is read from recorded /sys trees', () => {
  let root: string;
  beforeEach(() => void (root = mkdtempSync(join(os.tmpdir(), 'sys-'))));
  afterEach(() => rmSync(root, { recursive: true }));

  for (const [name, machine] of Object.entries(machines)) {
    it(name, () => {
      writeSysTree(root, machine);
      assert.deepEqual(readMachineTopology(root), machine);
    });
  }

  it('without CPUs that are switched off', () => {
    writeSysTree(root, machineOf({ sockets: 1, nodes: 1, cores: 2, threads: 2 }), [3]);
    const [node] = readMachineTopology(root).nodes;
    assert.deepEqual(
      node?.cores.map(({ cpus }) => cpus),
      [[0, 2], [1]],
    );
  });

  it('and without caches where the kernel does not report them, as in many virtual machines', () => {
    writeSysTree(root, dualSocket);
    rmSync(join(root, 'sys/devices/system/cpu/cpu0/cache'), { recursive: true });
    assert.equal(readMachineTopology(root).nodes[0]?.cores[0]?.uncoreCacheId, undefined);
  });

  it('of a kernel without NUMA as one node for each socket', () => {
    writeSysTree(root, machineOf({ sockets: 2, nodes: 1, cores: 1, threads: 1 }));
    rmSync(join(root, 'sys/devices/system/node'), { recursive: true });
    const { nodes } = readMachineTopology(root, 4096);
    assert.deepEqual(
      nodes.map(({ id, cores, memoryBytes }) => [id, cores.flatMap(({ cpus }) => cpus), memoryBytes]),
      [
        [0, [0], 0],
        [1, [1], 0],
      ],
    );
  });

  it('with files of another form without an error', () => {
    writeSysTree(root, asymmetric);
    for (const [file, text] of [
      ['node/node0/meminfo', '\0'.repeat(100)],
      ['node/node0/distance', 'x y'],
      ['cpu/cpu1/topology/core_id', ''],
      ['cpu/cpu2/cache/index2/shared_cpu_list', '9-1,'],
    ] as const)
      writeFileSync(join(root, 'sys/devices/system', file), text);
    const [node] = readMachineTopology(root).nodes;
    assert.equal(node?.memoryBytes, 0);
    assert.deepEqual(node?.cores[0]?.cpus, [0]);
  });
});

it('this machine has the CPUs that the kernel counts', () => {
  const cpus = readMachineTopology().nodes.flatMap(({ cores }) => cores.flatMap(({ cpus: own }) => own));
  assert.equal(new Set(cpus).size, cpus.length);
  assert.ok(cpus.length >= os.availableParallelism());
});
