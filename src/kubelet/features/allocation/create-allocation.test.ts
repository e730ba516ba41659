import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDefaults } from '../../model/config/defaults.ts';
import { computeFeatureGates } from '../../model/config/feature-gates.ts';
import { pinningPolicies } from './create-allocation.ts';

test('a gate each admits resizes of guaranteed pods beside exclusive CPUs and beside pinned memory', () => {
  const policies = (...on: readonly string[]): readonly string[] => {
    const { gates } = computeFeatureGates(Object.fromEntries(on.map((name) => [name, true])));
    const versioned = applyDefaults({ cpuManagerPolicy: 'static', memoryManagerPolicy: 'Static' }, gates.enabled);
    const { cpuManagerPolicy, memoryManagerPolicy } = pinningPolicies({ versioned, gates });
    return [cpuManagerPolicy, memoryManagerPolicy];
  };
  assert.deepEqual(policies(), ['static', 'Static']);
  assert.deepEqual(policies('InPlacePodVerticalScalingExclusiveCPUs'), ['none', 'Static']);
  assert.deepEqual(policies('InPlacePodVerticalScalingExclusiveMemory'), ['static', 'None']);
});
