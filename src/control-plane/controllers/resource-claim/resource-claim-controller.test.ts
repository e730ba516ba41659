import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods, resourceClaims, resourceClaimTemplates } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { CLAIM_FINALIZER, POD_CLAIM_NAME_ANNOTATION } from '../../../api/resource/device-config.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceClaimTemplate } from '../../../api/resource/resource-claim-template.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { newPodClaim } from './generated-claim.ts';
import { createResourceClaimController } from './resource-claim-controller.ts';

const spec = { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }] } };
const template: ResourceClaimTemplate = {
  metadata: { namespace: 'default', name: 'gpu', uid: 't' },
  spec: { metadata: { labels: { made: 'yes' } }, spec },
};
const podWith = (name: string, more: Record<string, unknown> = {}): Pod =>
  buildPod({
    'metadata.name': name,
    'metadata.uid': `uid-${name}`,
    'spec.resourceClaims': [{ name: 'dev', resourceClaimTemplateName: 'gpu' }],
    ...more,
  });
const consumer = (name: string): object => ({ resource: 'pods', name, uid: `uid-${name}` });
const allocated = (more: object): ResourceClaim =>
  ({
    metadata: { namespace: 'default', name: 'shared', uid: 'c', finalizers: [CLAIM_FINALIZER] },
    spec,
    status: { allocation: { devices: {} }, ...more },
  }) as ResourceClaim;

function setUp(options: Partial<WorldOptions> = {}): ControllerWorld {
  const world = new ControllerWorld({ make: (parts) => [createResourceClaimController(parts)], ...options });
  world.api.seed(resourceClaimTemplates, template);
  return world;
}
const statusOf = (world: ControllerWorld, name: string): unknown =>
  world.api.peek(pods, { namespace: 'default', name })?.status?.resourceClaimStatuses;

it('a pod gets a claim from the template, and its status names it', async () => {
  const world = setUp();
  world.api.seed(pods, podWith('web'));
  world.start();
  await world.clock.advance(1_000);
  const [claim, ...others] = world.api.all(resourceClaims);
  assert.deepEqual(others, []);
  assert.match(claim?.metadata.name ?? '', /^web-dev-.{5}$/);
  assert.deepEqual(claim?.spec, spec);
  assert.deepEqual(claim?.metadata.labels, { made: 'yes' });
  assert.deepEqual(claim?.metadata.annotations, { [POD_CLAIM_NAME_ANNOTATION]: 'dev' });
  assert.deepEqual(claim?.metadata.ownerReferences, [
    { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'uid-web', controller: true },
  ]);
  assert.deepEqual(statusOf(world, 'web'), [{ name: 'dev', resourceClaimName: claim?.metadata.name }]);
  await world.stop();
});

it('reports a missing template, and creates the claim when it exists', async () => {
  const world = setUp();
  world.api.remove(resourceClaimTemplates, keyOf(template));
  world.api.seed(pods, podWith('web'));
  world.start();
  await world.clock.advance(1_000);
  assert.match(
    world.events.join('\n'),
    /^Warning FailedResourceClaimCreation PodResourceClaim dev: resource claim template "gpu": resourceclaimtemplate.resource.k8s.io "gpu" not found/,
  );
  world.api.seed(resourceClaimTemplates, template);
  await world.clock.advance(1_000);
  assert.equal(world.api.all(resourceClaims).length, 1);
  await world.stop();
});

it('long names of pods and claims are truncated in proportion', () => {
  const claim = newPodClaim(podWith('p'.repeat(100)), 'c'.repeat(20), template);
  assert.equal(claim.metadata.generateName, `${'p'.repeat(46)}-${'c'.repeat(9)}`);
});

it('ended and deleted pods are removed from the reservations, and the last one deallocates the claim', async () => {
  const world = setUp();
  world.api.seed(pods, podWith('runs', { 'spec.resourceClaims': [{ name: 'dev', resourceClaimName: 'shared' }] }));
  world.api.seed(pods, podWith('done', { 'status.phase': 'Succeeded' }));
  world.api.seed(resourceClaims, allocated({ reservedFor: ['runs', 'done', 'gone'].map(consumer) }));
  world.start();
  await world.clock.advance(1_000);
  const claim = (): ResourceClaim | undefined =>
    world.api.peek(resourceClaims, { namespace: 'default', name: 'shared' });
  assert.deepEqual(claim()?.status, { allocation: { devices: {} }, reservedFor: [consumer('runs')] });
  world.api.remove(pods, { namespace: 'default', name: 'runs' });
  await world.clock.advance(1_000);
  assert.deepEqual([claim()?.status, claim()?.metadata.finalizers], [{}, []]);
  await world.stop();
});

it('a pod that was bound without the scheduler is added to the reservations of an allocated claim', async () => {
  const world = setUp();
  const claims = { 'spec.resourceClaims': [{ name: 'dev', resourceClaimName: 'shared' }] };
  world.api.seed(pods, podWith('bound', { ...claims, 'spec.nodeName': 'n' }));
  world.api.seed(pods, podWith('waits', claims));
  world.api.seed(resourceClaims, allocated({}));
  world.start();
  await world.clock.advance(1_000);
  assert.deepEqual(world.api.peek(resourceClaims, { namespace: 'default', name: 'shared' })?.status?.reservedFor, [
    consumer('bound'),
  ]);
  await world.stop();
});

it('a claim that the scheduler is about to allocate keeps its finalizer', async () => {
  const world = setUp();
  const { status: _, ...claim } = allocated({});
  world.api.seed(resourceClaims, claim);
  world.start();
  await world.clock.advance(1_000);
  assert.deepEqual(world.api.writes, []);
  await world.stop();
});

it('a claim that is deleted while no pod uses it is deallocated and removed', async () => {
  const world = setUp();
  world.api.seed(resourceClaims, allocated({}));
  world.start();
  await world.api.delete(resourceClaims, { namespace: 'default', name: 'shared' });
  await world.clock.advance(1_000);
  assert.deepEqual(world.api.all(resourceClaims), []);
  await world.stop();
});

it('a claim with a leftover finalizer of a crashed controller is removed when it is deleted', async () => {
  const world = setUp();
  const { status: _, ...claim } = allocated({});
  world.api.seed(resourceClaims, claim);
  world.start();
  await world.clock.advance(1_000);
  await world.api.delete(resourceClaims, { namespace: 'default', name: 'shared' });
  await world.clock.advance(1_000);
  assert.deepEqual(world.api.all(resourceClaims), []);
  await world.stop();
});

const step = fc.oneof(
  fc.record({ kind: fc.constant('pod' as const), which: fc.nat(3) }),
  fc.record({ kind: fc.constant('end' as const), which: fc.nat(3) }),
  fc.record({ kind: fc.constant('remove' as const), which: fc.nat(3) }),
  fc.record({ kind: fc.constant('lose' as const), which: fc.nat(3) }),
  fc.record({ kind: fc.constant('allocate' as const), which: fc.nat(3) }),
  fc.record({ kind: fc.constant('kill' as const), writes: fc.integer({ min: 1, max: 4 }) }),
);

/**
 * The controller is killed between the two writes that deallocate a claim, which keeps its finalizer until it is
 * deleted.
 */
const cutOffRelease: [typeof step extends fc.Arbitrary<infer S> ? S : never, number][] = [
  [{ kind: 'kill', writes: 3 }, 0],
  [{ kind: 'pod', which: 3 }, 2],
  [{ kind: 'allocate', which: 3 }, 0],
  [{ kind: 'remove', which: 3 }, 0],
];

/** Allocates a claim as the scheduler does. */
function allocate(world: ControllerWorld, claim: ResourceClaim | undefined, pod: Pod | undefined): void {
  if (claim === undefined || pod === undefined || claim.metadata.deletionTimestamp !== undefined) return;
  world.api.change(resourceClaims, keyOf(claim), (each) => ({
    ...each,
    metadata: { ...each.metadata, finalizers: [CLAIM_FINALIZER] },
    status: {
      allocation: { devices: {} },
      reservedFor: [{ resource: 'pods', name: pod.metadata.name, uid: pod.metadata.uid }],
    },
  }));
}

/** Deletes the claims of deleted pods. Those with a finalizer only start to terminate. */
async function collectGarbage({ api }: ControllerWorld): Promise<void> {
  const owners = new Set(api.all(pods).map(({ metadata }) => metadata.uid));
  for (const claim of api.all(resourceClaims))
    if (!owners.has(claim.metadata.ownerReferences?.[0]?.uid ?? '')) await api.delete(resourceClaims, keyOf(claim));
}

it('despite crashes and late events, each running pod has one claim and no other claim is left', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, fc.integer({ min: 0, max: 4 })), { maxLength: 14 }),
      fc.nat(1_000),
      async (steps, seed) => {
        const world = setUp({ seed, lagMs: 800 });
        world.start();
        let born = 0;
        for (const [each, halfSeconds] of steps) {
          const name = 'which' in each ? `p${each.which}` : '';
          const pod = world.api.peek(pods, { namespace: 'default', name });
          const claim = world.api
            .all(resourceClaims)
            .find(({ metadata }) => metadata.ownerReferences?.[0]?.uid === pod?.metadata.uid);
          if (each.kind === 'kill') world.restartAtWrite(each.writes);
          else if (each.kind === 'pod') {
            if (pod === undefined) world.api.seed(pods, podWith(name, { 'metadata.uid': `uid-${name}-${born++}` }));
          } else if (each.kind === 'end' && pod !== undefined)
            world.api.change(pods, keyOf(pod), (one) => ({
              ...one,
              status: { ...one.status, phase: 'Succeeded' as const },
            }));
          else if (each.kind === 'remove' && pod !== undefined) world.api.remove(pods, keyOf(pod));
          else if (each.kind === 'lose' && claim !== undefined)
            await world.api.delete(resourceClaims, keyOf(claim)).catch(() => undefined);
          else if (each.kind === 'allocate') allocate(world, claim, pod);
          await world.clock.advance(halfSeconds * 500);
        }
        await world.clock.advance(60_000);
        await collectGarbage(world);
        await world.clock.advance(60_000);
        const running = world.api.all(pods).filter(({ status }) => status?.phase !== 'Succeeded');
        const claims = world.api.all(resourceClaims);
        for (const pod of running) {
          const own = claims.filter(({ metadata }) => metadata.ownerReferences?.[0]?.uid === pod.metadata.uid);
          assert.deepEqual(
            own.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length <= 1 && own.length,
            1,
          );
          assert.deepEqual(pod.status?.resourceClaimStatuses, [
            { name: 'dev', resourceClaimName: own[0]?.metadata.name },
          ]);
        }
        for (const { metadata } of claims)
          assert.ok(running.some((pod) => pod.metadata.uid === metadata.ownerReferences?.[0]?.uid));
        await world.stop();
      },
    ),
    { numRuns: 60, examples: [[cutOffRelease, 0]] },
  ));
