import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DaemonSetSchema } from '../../../src/api/apps/daemon-set.ts';
import { DeploymentSchema } from '../../../src/api/apps/deployment.ts';
import { StatefulSetSchema } from '../../../src/api/apps/stateful-set.ts';
import { JobSchema } from '../../../src/api/batch/job.ts';
import { decode } from '../../../src/api/schema/decode.ts';
import type { Decoded } from '../../../src/api/schema/decode.ts';
import { workload } from './objects.ts';
import type { WorkloadShape } from './objects.ts';

/** The number of pods of the objects, as the API reads them. */
function podsOf(shape: WorkloadShape, pods: number, nodes: number): number {
  let sum = 0;
  for (const { path, body } of workload(shape, 'space', pods, nodes)) {
    const [, kind = ''] = /\/namespaces\/space\/([a-z]+)$/.exec(path) ?? [];
    if (kind === 'deployments') sum += valid(decode(DeploymentSchema, body)).spec.replicas ?? 0;
    else if (kind === 'statefulsets') sum += valid(decode(StatefulSetSchema, body)).spec.replicas ?? 0;
    else if (kind === 'jobs') sum += valid(decode(JobSchema, body)).spec.completions ?? 0;
    else {
      const { template } = valid(decode(DaemonSetSchema, body)).spec;
      const required = template.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      const names = required?.nodeSelectorTerms[0]?.matchExpressions?.[0]?.values ?? [];
      assert.equal(new Set(names).size, names.length);
      sum += names.length;
    }
  }
  return sum;
}

function valid<T>({ value, errors }: Decoded<T>): T {
  assert.deepEqual(errors, []);
  assert.ok(value !== undefined);
  return value;
}

test('each shape comes to as many pods as are asked for', () => {
  for (const shape of ['one', 'hundred', 'mixed'] as const)
    assert.deepEqual([podsOf(shape, 10_000, 1000), podsOf(shape, 3000, 300)], [10_000, 3000], shape);
});
