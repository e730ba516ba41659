import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Deployment } from '../../../api/apps/deployment.ts';
import type { HorizontalPodAutoscalerSpec } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { deployments, horizontalPodAutoscalers, jobs, podMetrics, pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { formatTime } from '../../../api/time.ts';
import type { DesiredReplicas } from '../../controller-runtime/autoscaler-metrics.ts';
import { noOtherApis } from '../../controller-runtime/other-apis.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { createApiMetrics } from './api-metrics.ts';
import { createHorizontalPodAutoscalerController } from './horizontal-pod-autoscaler-controller.ts';
import type { AutoscalerSettings } from './horizontal-pod-autoscaler-controller.ts';
import type { MetricsSource } from './metrics-source.ts';

const web = { namespace: 'default', name: 'web' };
const PERIOD_MS = 15_000;
const settings: AutoscalerSettings = {
  syncPeriodMs: PERIOD_MS,
  downscaleWindowMs: 300_000,
  tolerance: 0.1,
  cpuInitializationMs: 300_000,
  initialReadinessMs: 30_000,
};
const spec: HorizontalPodAutoscalerSpec = {
  scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
  minReplicas: 1,
  maxReplicas: 10,
  metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
};
const fast = (rules: object): object => ({ stabilizationWindowSeconds: 0, selectPolicy: 'Max', ...rules });
const anyChange = fast({ policies: [{ type: 'Percent', value: 1_000, periodSeconds: 1 }] });
const gone = fast({ policies: [{ type: 'Percent', value: 100, periodSeconds: 1 }] });

/** A Deployment whose number of pods always equals its size. All are ready for an hour and share a load. */
class Fleet {
  readonly world: ControllerWorld;
  /** The CPU usage of all pods together, in thousandths. */
  load = 0;
  /** The recorded metrics. */
  readonly figures: string[] = [];
  wanted: () => readonly DesiredReplicas[] = () => [];
  /** The reason why there are no metrics, if there are none. */
  outage: string | undefined;

  constructor(more: Partial<HorizontalPodAutoscalerSpec> = {}, options: Partial<WorldOptions> = {}) {
    this.world = new ControllerWorld({
      make: (each) => [
        createHorizontalPodAutoscalerController({
          ...each,
          types: () => [deployments, jobs],
          metrics: this.#metrics(),
          settings,
          autoscalerMetrics: {
            reconciled: ({ action, error }) => void this.figures.push(`pass ${action} ${error}`),
            computed: ({ metricType, action, error }) => void this.figures.push(`${metricType} ${action} ${error}`),
            listWith: (list) => void (this.wanted = list),
          },
        }),
      ],
      owners: [deployments],
      ...options,
    });
    const selector = { matchLabels: { app: 'web' } };
    this.world.api.seed(deployments, {
      metadata: { ...web, uid: 'd-1' },
      spec: { replicas: 2, selector, template: { metadata: {}, spec: buildPod().spec } },
    } as unknown as Deployment);
    this.world.api.seed(horizontalPodAutoscalers, { metadata: { ...web, uid: 'h-1' }, spec: { ...spec, ...more } });
    this.follow();
  }

  async begin(): Promise<this> {
    this.world.start();
    await this.run(1_000);
    return this;
  }

  /** Advances the time, while the pods follow the Deployment. */
  async run(forMs: number): Promise<void> {
    for (let leftMs = forMs; leftMs > 0; leftMs -= 1_000) {
      this.follow();
      await this.world.clock.advance(Math.min(1_000, leftMs));
      this.world.check();
    }
  }

  get replicas(): number {
    return this.world.api.peek(deployments, web)?.spec.replicas ?? 0;
  }

  get status() {
    return this.world.api.peek(horizontalPodAutoscalers, web)?.status;
  }

  get conditions(): string[] {
    return (this.status?.conditions ?? []).map(({ type, status, reason }) => `${type} ${status} ${reason}`);
  }

  follow(): void {
    const { api, clock } = this.world;
    const since = formatTime(clock.nowMs() - 3_600_000);
    for (let index = 0; index < 12; index++) {
      const key = { namespace: 'default', name: `web-${index}` };
      const isThere = api.peek(pods, key) !== undefined;
      if (index < this.replicas && !isThere) {
        const built = buildPod();
        const containers = [{ ...built.spec.containers[0], name: 'app', resources: { requests: { cpu: '1' } } }];
        api.seed(pods, {
          ...built,
          metadata: { ...key, uid: `p-${index}`, labels: { app: 'web' } },
          spec: { ...built.spec, containers, nodeName: 'n' },
          status: {
            phase: 'Running',
            startTime: since,
            conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: since }],
          },
        } as Pod);
      } else if (index >= this.replicas && isThere) api.remove(pods, key);
    }
    const { spec: wanted, status } = api.peek(deployments, web) as Deployment;
    if (status?.replicas !== wanted.replicas)
      api.change(
        deployments,
        web,
        (each) => ({ ...each, status: { ...each.status, replicas: each.spec.replicas } }) as Deployment,
      );
  }

  #metrics(): MetricsSource {
    const failed = (): Promise<never> => Promise.reject(new Error(this.outage ?? 'not in this test'));
    return {
      resource: () => {
        if (this.outage !== undefined) return failed();
        const atMs = this.world.clock.nowMs();
        const milliValue = BigInt(Math.floor(this.load / Math.max(1, this.replicas)));
        const names = this.world.api.all(pods).map(({ metadata }) => metadata.name);
        return Promise.resolve(new Map(names.map((name) => [name, { milliValue, atMs, windowMs: PERIOD_MS }])));
      },
      pods: failed,
      object: failed,
      external: failed,
    };
  }
}

it('scales up at once under load, scales down after five minutes, and records events', async () => {
  const fleet = new Fleet();
  fleet.load = 2_000;
  await fleet.begin();
  assert.equal(fleet.replicas, 4);
  assert.deepEqual(fleet.conditions, [
    'AbleToScale True SucceededRescale',
    'ScalingActive True ValidMetricFound',
    'ScalingLimited False DesiredWithinRange',
  ]);
  assert.deepEqual(fleet.status?.currentMetrics, [
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 100, averageValue: '1' } } },
  ]);
  assert.deepEqual(
    [fleet.status?.currentReplicas, fleet.status?.desiredReplicas, fleet.status?.lastScaleTime !== undefined],
    [2, 4, true],
  );
  await fleet.run(PERIOD_MS);
  assert.deepEqual([fleet.status?.currentReplicas, fleet.status?.desiredReplicas], [4, 4]);
  fleet.load = 10;
  await fleet.run(280_000);
  assert.equal(fleet.replicas, 4);
  assert.ok(fleet.conditions.includes('AbleToScale True ScaleDownStabilized'));
  await fleet.run(60_000);
  assert.equal(fleet.replicas, 1);
  await fleet.run(PERIOD_MS);
  assert.deepEqual(fleet.world.events, [
    'Normal SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) above target',
    'Normal SuccessfulRescale New size: 1; reason: All metrics below target',
  ]);
  await fleet.world.stop();
});

it('an idle autoscaler writes nothing, and a change of its spec takes effect at once', async () => {
  const fleet = new Fleet();
  fleet.load = 1_000;
  await fleet.begin();
  const before = fleet.world.api.writes.length;
  await fleet.run(10 * PERIOD_MS);
  assert.deepEqual(fleet.world.api.writes.slice(before), []);
  fleet.world.api.change(horizontalPodAutoscalers, web, (each) => ({
    ...each,
    spec: { ...each.spec, minReplicas: 3 },
  }));
  await fleet.run(2_000);
  assert.equal(fleet.replicas, 3);
  fleet.world.api.change(horizontalPodAutoscalers, web, (each) => ({
    ...each,
    spec: { ...each.spec, minReplicas: 1, maxReplicas: 2 },
  }));
  await fleet.run(2_000);
  assert.equal(fleet.replicas, 2);
  fleet.world.api.change(deployments, web, (each) => ({ ...each, spec: { ...each.spec, replicas: 0 } }));
  await fleet.run(PERIOD_MS);
  assert.ok(fleet.conditions.includes('ScalingActive False ScalingDisabled'));
  assert.equal(fleet.replicas, 0);
  await fleet.world.stop();
});

it("without metrics nothing changes, with upstream's messages; with some of them pods are only added", async () => {
  const fleet = new Fleet();
  fleet.outage = 'unable to fetch metrics from resource metrics API: x';
  await fleet.begin();
  const text =
    'failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: x';
  assert.deepEqual(fleet.world.events, [
    `Warning FailedGetResourceMetric ${text}`,
    `Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: ${text}`,
  ]);
  assert.equal(
    fleet.status?.conditions?.find(({ type }) => type === 'ScalingActive')?.message,
    `the HPA was unable to compute the replica count: ${text}`,
  );
  await fleet.world.stop();
  const queue = {
    type: 'External' as const,
    external: { metric: { name: 'queue' }, target: { type: 'Value' as const, value: '1' } },
  };
  const partly = new Fleet({ metrics: [queue, ...(spec.metrics ?? [])] });
  partly.load = 10;
  await partly.begin();
  assert.deepEqual(
    [partly.replicas, partly.conditions.includes('ScalingActive False FailedGetExternalMetric')],
    [2, true],
  );
  partly.load = 2_000;
  await partly.run(PERIOD_MS);
  assert.deepEqual([partly.replicas, partly.conditions.includes('ScalingActive True ValidMetricFound')], [4, true]);
  await partly.world.stop();
});

it('reports a missing target, and pods that another autoscaler selects', async () => {
  const at = (scaleTargetRef: object) => new Fleet({ scaleTargetRef: { ...spec.scaleTargetRef, ...scaleTargetRef } });
  for (const [fleet, expected] of [
    [at({ kind: 'Moon' }), 'no matches for kind "Moon" in group "apps"'],
    [at({ name: 'other' }), 'deployments.apps "other" not found'],
  ] as const) {
    await fleet.begin();
    assert.deepEqual(fleet.world.events, [`Warning FailedGetScale ${expected}`]);
    assert.deepEqual(fleet.conditions, ['AbleToScale False FailedGetScale']);
    await fleet.world.stop();
  }
  const fleet = await new Fleet().begin();
  fleet.world.api.seed(horizontalPodAutoscalers, { metadata: { ...web, name: 'twin', uid: 'h-2' }, spec });
  await fleet.run(2 * PERIOD_MS);
  assert.ok(
    fleet.world.events.includes(
      'Warning AmbiguousSelector pods by selector app=web are controlled by multiple HPAs: [default/twin default/web]',
    ),
    fleet.world.events.join('\n'),
  );
  assert.ok(fleet.conditions.includes('ScalingActive False AmbiguousSelector'));
  fleet.world.api.remove(horizontalPodAutoscalers, { ...web, name: 'twin' });
  await fleet.run(2 * PERIOD_MS);
  assert.ok(fleet.conditions.includes('ScalingActive True ValidMetricFound'));
  await fleet.world.stop();
});

it('reads usage from metrics.k8s.io, and ignores pods with an unknown container', async () => {
  const { world } = new Fleet();
  const head = {
    metadata: { ...web, uid: '', labels: { app: 'web' } },
    timestamp: '2026-01-01T00:00:00Z',
    window: '15.5s',
  };
  world.api.seed(podMetrics, {
    ...head,
    containers: [
      { name: 'app', usage: { cpu: '1500000001n', memory: '1Ki' } },
      { name: 'side', usage: { cpu: '1m', memory: '1Ki' } },
    ],
  });
  world.api.seed(podMetrics, {
    ...head,
    metadata: { ...head.metadata, name: 'half' },
    containers: [
      { name: 'app', usage: { cpu: '1' } },
      { name: 'side', usage: {} },
    ],
  });
  const metrics = createApiMetrics({ client: world.api, others: noOtherApis, types: () => [] });
  const query = { namespace: 'default', podSelector: 'app=web', resource: 'cpu' };
  const atMs = Date.parse(head.timestamp);
  assert.deepEqual([...(await metrics.resource(query))], [['web', { milliValue: 1_502n, atMs, windowMs: 15_500 }]]);
  assert.deepEqual(
    [...(await metrics.resource({ ...query, container: 'app' }))].map(([name]) => name),
    ['web', 'half'],
  );
  await assert.rejects(
    metrics.resource({ ...query, podSelector: 'app=x' }),
    /no metrics returned from resource metrics API/,
  );
  await assert.rejects(metrics.external('default', { name: 'queue' }), {
    message:
      'unable to fetch metrics from external metrics API: the server could not find the requested resource (get queue.external.metrics.k8s.io)',
  });
});

it('despite crashes and late events, the number of pods fits the load and stays within the limits', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.nat(9_000), fc.integer({ min: 1, max: 60 })), {
        maxLength: 5,
      }),
      fc.nat(1_000),
      async (steps, seed) => {
        const behavior = { scaleUp: anyChange, scaleDown: gone };
        const fleet = new Fleet({ minReplicas: 2, maxReplicas: 8, behavior }, { seed, lagMs: 900 });
        fleet.world.check = () => assert.ok(fleet.replicas >= 2 && fleet.replicas <= 8);
        await fleet.begin();
        for (const [writes, load, seconds] of steps) {
          fleet.world.restartAtWrite(writes);
          fleet.load = load;
          await fleet.run(seconds * 1_000);
        }
        fleet.world.restartAtWrite(Infinity);
        await fleet.run(6 * PERIOD_MS);
        const used = Math.floor(Math.floor(fleet.load / fleet.replicas) / 10) / 50;
        const isRight =
          (used >= 0.9 && used <= 1.1) ||
          (used > 1.1 && fleet.replicas === 8) ||
          (used < 0.9 && Math.max(2, Math.ceil(used * fleet.replicas)) === fleet.replicas);
        assert.ok(isRight, `${fleet.replicas} pods for ${fleet.load}`);
        assert.deepEqual(
          [fleet.status?.currentReplicas, fleet.status?.desiredReplicas],
          [fleet.replicas, fleet.replicas],
        );
        await fleet.world.stop();
      },
    ),
    { numRuns: 30 },
  ));

it('syncs and metrics are counted by their action and error', async () => {
  const fleet = new Fleet();
  fleet.load = 1_000_000;
  await fleet.begin();
  assert.deepEqual(fleet.figures.splice(0), ['Resource scale_up none', 'pass scale_up none']);
  assert.deepEqual(fleet.wanted(), [{ ...web, replicas: fleet.replicas }]);
  fleet.outage = 'no metrics';
  await fleet.run(PERIOD_MS);
  assert.deepEqual([...new Set(fleet.figures.splice(0))], ['Resource none internal', 'pass none internal']);
  fleet.world.api.change(horizontalPodAutoscalers, web, (autoscaler) => ({
    ...autoscaler,
    spec: { ...autoscaler.spec, metrics: [{ type: 'Nonsense' as 'Resource' }] },
  }));
  await fleet.run(2_000);
  assert.deepEqual(fleet.figures, ['Nonsense none spec', 'pass none spec']);
  await fleet.world.stop();
});
