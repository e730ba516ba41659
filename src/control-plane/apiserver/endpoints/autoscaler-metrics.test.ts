import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { HorizontalPodAutoscalerMetrics } from './autoscaler-metrics.ts';

const PREFIX = 'horizontal_pod_autoscaler_controller';

test("syncs, metrics and autoscalers are counted under upstream's names", async () => {
  const registry = new Registry();
  const metrics = new HorizontalPodAutoscalerMetrics(registry);
  metrics.reconciled({ action: 'scale_up', error: 'none', durationMs: 3 });
  metrics.computed({ action: 'none', error: 'internal', durationMs: 2000, metricType: 'Resource' });
  metrics.listWith(() => [{ namespace: 'shop', name: 'web', replicas: 4 }]);
  const lines = (await registry.metrics()).split('\n');
  for (const line of [
    `${PREFIX}_reconciliations_total{action="scale_up",error="none"} 1`,
    `${PREFIX}_reconciliation_duration_seconds_bucket{le="0.002",action="scale_up",error="none"} 0`,
    `${PREFIX}_reconciliation_duration_seconds_bucket{le="0.004",action="scale_up",error="none"} 1`,
    `${PREFIX}_metric_computation_total{action="none",error="internal",metric_type="Resource"} 1`,
    `${PREFIX}_metric_computation_duration_seconds_sum{action="none",error="internal",metric_type="Resource"} 2`,
    `${PREFIX}_num_horizontal_pod_autoscalers 1`,
    `${PREFIX}_desired_replicas{namespace="shop",hpa_name="web"} 4`,
  ])
    assert.ok(lines.includes(line), `${line}\n${lines.filter((each) => !each.startsWith('#')).join('\n')}`);
  metrics.listWith(() => []);
  const later = await registry.metrics();
  assert.ok(later.includes(`${PREFIX}_num_horizontal_pod_autoscalers 0`));
  assert.ok(!later.includes('hpa_name="web"'));
});
