import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceClaimTemplate } from '../../../api/resource/resource-claim-template.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { newPodClaim } from './generated-claim.ts';
import { planPod } from './plan-pod.ts';
import type { PodPlan } from './plan-pod.ts';

const template: ResourceClaimTemplate = {
  metadata: { name: 't', namespace: 'default', uid: 't' },
  spec: { metadata: { labels: { own: 'x' }, annotations: { own: 'y' } }, spec: { devices: { requests: [] } } },
};
const entry = { name: 'dev', resourceClaimTemplateName: 't' };

interface Given {
  readonly entries?: readonly object[];
  /** The entries of `status.resourceClaimStatuses`. */
  readonly known?: readonly object[];
  readonly pod?: Record<string, unknown>;
  readonly claims?: readonly ResourceClaim[];
  readonly templates?: readonly ResourceClaimTemplate[];
}

function buildUser({ entries = [entry], known, pod = {} }: Given): ReturnType<typeof buildPod> {
  return buildPod({
    'spec.resourceClaims': entries,
    ...(known !== undefined && { 'status.resourceClaimStatuses': known }),
    ...pod,
  });
}

function plan(given: Given): PodPlan {
  const { claims = [], templates = [template] } = given;
  const named = <T extends { metadata: { name: string } }>(all: readonly T[], name: string): T | undefined =>
    all.find(({ metadata }) => metadata.name === name);
  return planPod(buildUser(given), {
    claim: (name) => named(claims, name),
    template: (name) => named(templates, name),
    generated: claims,
  });
}

/** Formats a plan as `create dev`, `status dev c1`, `reserve c1`. */
function shown({ creates, statuses, reserves, failure }: PodPlan): string {
  return [
    ...creates.map(({ podClaim }) => `create ${podClaim}`),
    ...statuses.map(({ name, resourceClaimName }) => `status ${name} ${resourceClaimName}`),
    ...reserves.map(({ metadata }) => `reserve ${metadata.name}`),
    ...(failure === undefined ? [] : [failure]),
  ].join(', ');
}

interface GivenClaim {
  readonly podClaim?: string;
  readonly allocated?: boolean;
  readonly users?: number;
  readonly mine?: boolean;
  readonly leaving?: boolean;
  readonly reserved?: boolean;
}

function generated(
  name: string,
  { podClaim = 'dev', allocated = false, mine = true, leaving = false, users = 0, reserved = false }: GivenClaim = {},
): ResourceClaim {
  const owner = mine ? buildPod() : buildPod({ 'metadata.uid': 'other' });
  const made = newPodClaim(owner, podClaim, template);
  const { uid } = buildPod().metadata;
  const consumers = Array.from({ length: users }, (_, index) => ({
    resource: 'pods',
    name: `p${index}`,
    uid: `p${index}`,
  }));
  return {
    ...made,
    metadata: { ...made.metadata, name, ...(leaving && { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    status: {
      ...(allocated && { allocation: { devices: {} } }),
      reservedFor: [...consumers, ...(reserved ? [{ resource: 'pods', name: 'web', uid }] : [])],
    },
  };
}

describe('the claim of a template', () => {
  it('is created for a pod that has none', () => assert.equal(shown(plan({})), 'create dev'));

  it('is written to the status if it was already generated for this entry', () => {
    assert.equal(shown(plan({ claims: [generated('c1')] })), 'status dev c1');
    assert.equal(shown(plan({ claims: [generated('c1', { podClaim: 'other' })] })), 'create dev');
    assert.equal(shown(plan({ claims: [generated('c1', { mine: false })] })), 'create dev');
  });

  it('is kept while the status names it and it belongs to the pod', () => {
    const known = [{ name: 'dev', resourceClaimName: 'c1' }];
    assert.equal(shown(plan({ known, claims: [generated('c1')] })), '');
    assert.equal(shown(plan({ known })), 'create dev');
    assert.equal(shown(plan({ known, claims: [generated('c1', { mine: false })] })), 'create dev');
  });

  it('is not created if the pod needs none or names a claim itself', () => {
    assert.equal(shown(plan({ known: [{ name: 'dev' }] })), '');
    assert.equal(shown(plan({ entries: [{ name: 'dev', resourceClaimName: 'c1' }] })), '');
  });

  it('is not created for a pod that terminates or has ended', () => {
    assert.equal(
      shown(plan({ pod: { 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z', 'spec.nodeName': 'n1' } })),
      '',
    );
    assert.equal(shown(plan({ pod: { 'status.phase': 'Failed' } })), '');
  });

  it('is not created without the template: the first missing template is reported, and the other claims are created', () => {
    const entries = [
      { name: 'a', resourceClaimTemplateName: 'none' },
      { name: 'b', resourceClaimTemplateName: 'nix' },
      entry,
    ];
    assert.equal(
      shown(plan({ entries })),
      'create dev, PodResourceClaim a: resource claim template "none": resourceclaimtemplate.resource.k8s.io "none" not found',
    );
  });
});

describe('a pod that has a node', () => {
  const known = [{ name: 'dev', resourceClaimName: 'c1' }];
  const reserved = (given: GivenClaim, more: Given = {}): string =>
    shown(plan({ known, claims: [generated('c1', given)], pod: { 'spec.nodeName': 'n1' }, ...more }));

  it('gets its allocated claims reserved', () => {
    assert.equal(reserved({ allocated: true }), 'reserve c1');
    assert.equal(reserved({ allocated: true }, { pod: {} }), '');
    assert.equal(reserved({ allocated: true }, { pod: { 'spec.nodeName': '' } }), '');
    assert.equal(reserved({}), '');
    assert.equal(reserved({ allocated: true, reserved: true }), '');
  });

  it('gets no reservation of a claim that is full, is being deleted, or was generated for another pod', () => {
    assert.equal(reserved({ allocated: true, users: 255 }), 'reserve c1');
    assert.equal(reserved({ allocated: true, users: 256 }), '');
    assert.equal(reserved({ allocated: true, leaving: true }), '');
    assert.equal(reserved({ allocated: true, mine: false }), 'create dev');
  });

  it('may use a claim without an owner by its name', () => {
    const entries = [{ name: 'dev', resourceClaimName: 'c1' }];
    assert.equal(reserved({ allocated: true, mine: false }, { entries }), 'reserve c1');
    assert.equal(shown(plan({ entries, pod: { 'spec.nodeName': 'n1' } })), '');
  });

  it('without claims gets no reservations', () =>
    assert.equal(reserved({ allocated: true }, { entries: [], known: [], claims: [] }), ''));
});
