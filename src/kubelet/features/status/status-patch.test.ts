import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { PodCondition, PodStatus } from '../../../api/core/pod-status.ts';
import { strategicPatch } from '../../../api/client/testing/fake-patch.ts';
import { computeStatusPatch, mergeStatus } from './status-patch.ts';

const ready: PodCondition = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
const gate: PodCondition = { type: 'example.com/gate', status: 'True' };

describe('the status of a pod to be sent to the API server', () => {
  it("keeps what other clients own, and uses the agent's status for the rest", () => {
    const published: PodStatus = {
      phase: 'Pending',
      nominatedNodeName: 'n2',
      conditions: [gate, { ...ready, status: 'False' }, { type: 'PodResizePending', status: 'True' }],
      resourceClaimStatuses: [{ name: 'c', resourceClaimName: 'x' }],
    };
    const merged = mergeStatus(published, {
      phase: 'Running',
      conditions: [ready, { type: 'example.com/gate', status: 'False' }],
    });
    assert.deepEqual(merged, {
      phase: 'Running',
      nominatedNodeName: 'n2',
      conditions: [gate, ready],
      resourceClaimStatuses: [{ name: 'c', resourceClaimName: 'x' }],
    });
  });

  it('never reverts a terminal phase, a start time, an observed generation, or a quality of service', () => {
    const merged = mergeStatus(
      {
        phase: 'Failed',
        reason: 'Evicted',
        message: 'm',
        startTime: '2026-01-01T00:00:00Z',
        observedGeneration: 4,
        qosClass: 'Burstable',
      },
      { startTime: '2026-01-01T00:00:09Z', phase: 'Running', observedGeneration: 3, qosClass: 'BestEffort' },
    );
    assert.deepEqual(merged, {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'm',
      startTime: '2026-01-01T00:00:00Z',
      observedGeneration: 4,
      qosClass: 'Burstable',
      conditions: [],
    });
  });

  it('shows a disruption with the end of the pod, not before', () => {
    const disrupted: PodCondition = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
    assert.deepEqual(mergeStatus({ phase: 'Running' }, { phase: 'Running', conditions: [disrupted] }).conditions, []);
    assert.deepEqual(mergeStatus({ phase: 'Running' }, { phase: 'Failed', conditions: [disrupted] }).conditions, [
      disrupted,
    ]);
    assert.deepEqual(
      mergeStatus({ phase: 'Failed', conditions: [disrupted] }, { phase: 'Failed', conditions: [] }).conditions,
      [disrupted],
    );
  });

  it('lists containers by name, as in upstream', () => {
    const container = (name: string) => ({ name, image: '', imageID: '', ready: true, restartCount: 0 });
    assert.deepEqual(
      mergeStatus({}, { containerStatuses: [container('b'), container('a')] }).containerStatuses?.map(
        ({ name }) => name,
      ),
      ['a', 'b'],
    );
  });
});

describe('a patch of a status', () => {
  it('is not needed if nothing differs', () => {
    assert.equal(
      computeStatusPatch(
        'u',
        { phase: 'Running', conditions: [ready] },
        { phase: 'Running', conditions: [{ ...ready }], podIPs: [] },
      ),
      undefined,
    );
  });

  it('is not needed for reordered conditions, but is for reordered addresses', () => {
    const scheduled: PodCondition = { type: 'PodScheduled', status: 'True' };
    assert.equal(
      computeStatusPatch('u', { conditions: [ready, scheduled] }, { conditions: [scheduled, ready] }),
      undefined,
    );
    const [first, second] = [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }];
    assert.deepEqual(computeStatusPatch('u', { podIPs: [first, second] }, { podIPs: [second, first] })?.status, {
      '$setElementOrder/podIPs': [second, first],
    });
  });

  it('names its pod, and what changed, was added and was removed', () => {
    const before: PodStatus = {
      phase: 'Pending',
      reason: 'r',
      conditions: [
        { ...ready, status: 'False', reason: 'x' },
        { type: 'PodResizePending', status: 'True' },
      ],
      podIPs: [{ ip: '10.0.0.1' }],
    };
    const after: PodStatus = {
      phase: 'Running',
      conditions: [ready, { type: 'Initialized', status: 'True' }],
      podIPs: [{ ip: '10.0.0.2' }],
    };
    assert.deepEqual(computeStatusPatch('u', before, after), {
      metadata: { uid: 'u' },
      status: {
        phase: 'Running',
        reason: null,
        conditions: [
          { status: 'True', reason: null, type: 'Ready' },
          { lastProbeTime: null, type: 'Initialized', status: 'True' },
          { $patch: 'delete', type: 'PodResizePending' },
        ],
        '$setElementOrder/conditions': [{ type: 'Ready' }, { type: 'Initialized' }],
        podIPs: [{ ip: '10.0.0.2' }, { $patch: 'delete', ip: '10.0.0.1' }],
        '$setElementOrder/podIPs': [{ ip: '10.0.0.2' }],
      },
    });
  });

  it('results in the wanted status, and keeps what was added to the API meanwhile', () => {
    const condition = fc.record(
      {
        type: fc.constantFrom('Ready', 'Initialized', 'PodScheduled', 'PodResizePending'),
        status: fc.constantFrom('True', 'False'),
        reason: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
      },
      { requiredKeys: ['type', 'status'] },
    );
    const any = fc.record(
      {
        phase: fc.constantFrom('Pending', 'Running', 'Failed'),
        reason: fc.string(),
        conditions: fc.uniqueArray(condition, { selector: ({ type }) => type }),
        podIPs: fc.uniqueArray(fc.record({ ip: fc.constantFrom('10.0.0.1', '10.0.0.2', 'fd00::1') }), {
          selector: ({ ip }) => ip,
        }),
        containerStatuses: fc.array(
          fc.record({
            name: fc.constantFrom('a', 'b'),
            image: fc.constant('i'),
            imageID: fc.constant(''),
            ready: fc.boolean(),
            restartCount: fc.nat(3),
          }),
          { maxLength: 2 },
        ),
        resources: fc.record(
          { limits: fc.dictionary(fc.constantFrom('cpu', 'memory'), fc.constantFrom('1', '2')) },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    );
    const status = any.map((value) => JSON.parse(JSON.stringify(value)) as PodStatus);
    fc.assert(
      fc.property(status, status, (before, after) => {
        const patch = computeStatusPatch('u', before, after);
        const later = { ...before, conditions: [...(before.conditions ?? []), gate] };
        const patched = (patch === undefined ? later : strategicPatch(later, patch.status)) as PodStatus;
        assert.equal(
          computeStatusPatch(
            'u',
            { ...patched, conditions: patched.conditions?.filter(({ type }) => type !== gate.type) },
            after,
          )?.status['phase'],
          undefined,
        );
        const sorted = (conditions: readonly PodCondition[] | undefined): unknown =>
          Object.fromEntries(
            (conditions ?? []).map(({ type, status: value, reason }) => [type, `${value} ${reason ?? ''}`]),
          );
        assert.deepEqual(sorted(patched.conditions), { ...(sorted(after.conditions) as object), [gate.type]: 'True ' });
        assert.deepEqual(new Set(patched.podIPs?.map(({ ip }) => ip)), new Set(after.podIPs?.map(({ ip }) => ip)));
        assert.deepEqual(patched.containerStatuses ?? [], after.containerStatuses ?? []);
      }),
    );
  });
});
