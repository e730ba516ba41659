import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Registry } from 'prom-client';
import { ResourceClaimMetrics } from './claim-metrics.ts';

it("metrics of resource claims have upstream's names", async () => {
  const registry = new Registry();
  const metrics = new ResourceClaimMetrics(registry);
  metrics.created('resourceclaim_controller', false, true);
  metrics.created('scheduler', true, false);
  let count = 3;
  metrics.countWith(() => [{ allocated: true, adminAccess: false, source: '', count }]);
  const wait = { profile: 'default-scheduler', driver: 'd', status: 'timeout', durationMs: 1000 };
  metrics.waited({ ...wait, isConditional: true });
  metrics.waited({ ...wait, driver: 'e', isConditional: false });
  const text = await registry.metrics();
  for (const line of [
    'resourceclaim_controller_creates_total{status="success",admin_access="true"} 1',
    'scheduler_resourceclaim_creates_total{status="failure"} 1',
    'resourceclaim_controller_resource_claims{allocated="true",admin_access="false",source=""} 3',
    'scheduler_dra_bindingconditions_allocations_total{profile="default-scheduler",driver="d",status="timeout"} 1',
    'scheduler_dra_bindingconditions_wait_duration_seconds_count{profile="default-scheduler",driver="e",status="timeout"} 1',
  ])
    assert.ok(text.includes(`${line}\n`), line);
  assert.ok(!text.includes('allocations_total{profile="default-scheduler",driver="e"'));
  count = 0;
  assert.match(await registry.metrics(), /resource_claims\{[^}]*\} 0\n/);
});
