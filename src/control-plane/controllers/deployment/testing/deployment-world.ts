// The deployment controller with its objects, and queries for its tests.
import type { Deployment } from '../../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../../api/apps/replica-set.ts';
import { deployments, replicaSets } from '../../../../api/client/resource-types.ts';
import { buildPod } from '../../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../../controller-runtime/testing/controller-world.ts';
import { simpleReplicaSets } from '../../../controller-runtime/testing/simple-replica-sets.ts';
import { createDeploymentController } from '../deployment-controller.ts';

const web = { namespace: 'default', name: 'web' };
export const revision = 'deployment.kubernetes.io/revision';

export type Template = Deployment['spec']['template'];
export const template = (image: string): Template => ({
  metadata: { labels: { app: 'web' } },
  spec: buildPod({ 'spec.containers[0].image': image }).spec,
});

export function build(replicas: number, more: Partial<Deployment['spec']> = {}): Deployment {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } } as const;
  return {
    metadata: { ...web, uid: 'd-1' },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: template('v1'),
      strategy,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      ...more,
    },
  };
}

export const startsSlowly = (_pod: unknown, ageMs: number): 'running' | 'ready' =>
  ageMs >= 1_500 ? 'ready' : 'running';

export async function setUp(deployment: Deployment, options: Partial<WorldOptions> = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (each) => [createDeploymentController(each), simpleReplicaSets(each)],
    owners: [deployments, replicaSets],
    outcome: startsSlowly,
    ...options,
  });
  for (const name of ['a', 'b', 'c']) world.addNode(name);
  world.api.seed(deployments, deployment);
  world.start();
  await world.clock.settle();
  return world;
}

export const change = (world: ControllerWorld, spec: Partial<Deployment['spec']>): void =>
  void world.api.change(deployments, web, (each) => ({ ...each, spec: { ...each.spec, ...spec } }));
export const roll = (world: ControllerWorld, image: string): void => change(world, { template: template(image) });
export const current = (world: ControllerWorld): Deployment => world.api.peek(deployments, web) as Deployment;
export const setOf = (world: ControllerWorld, image: string): ReplicaSet | undefined =>
  world.api.all(replicaSets).find(({ spec }) => spec.template.spec.containers[0]?.image === image);
export const condition = (world: ControllerWorld, type: string): string => {
  const found = current(world).status?.conditions?.find((each) => each.type === type);
  return `${found?.status} ${found?.reason} ${found?.message}`;
};
export const scalings = (world: ControllerWorld): string[] =>
  world.events
    .filter((each) => each.includes('ScalingReplicaSet'))
    .map((each) => each.replace('Normal ScalingReplicaSet Scaled ', '').replace(/ replica set web-\w+/, ''));
export const sizes = (world: ControllerWorld): Record<string, number> =>
  Object.fromEntries(
    world.api.all(replicaSets).map(({ spec }) => [spec.template.spec.containers[0]?.image ?? '', spec.replicas ?? 0]),
  );
