import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import { planClaim, selectDefaultClass } from './plan-claim.ts';
import type { ClaimFacts } from './plan-claim.ts';
import { buildClaim, buildVolume } from './testing/builders.ts';

const storageClass = (name: string, changes: Partial<StorageClass> = {}): StorageClass => ({
  metadata: { name, namespace: '', uid: name },
  provisioner: 'example.com/disk',
  ...changes,
});
const classes = [
  storageClass('fast'),
  storageClass('late', { volumeBindingMode: 'WaitForFirstConsumer' }),
  storageClass('built-in', { provisioner: 'kubernetes.io/aws-ebs' }),
];

/**
 * Formats a plan as `bind v`, `pending`, `lost`, `assign c`, `provision p`, and the event: `Warning Reason: message`.
 */
function planned(claim: PersistentVolumeClaim, facts: Partial<ClaimFacts> = {}): string {
  const { volumes = [] } = facts;
  const plan = planClaim(claim, {
    volumes,
    volumeOf: (name) => volumes.find(({ metadata }) => metadata.name === name),
    classOf: (name) => classes.find(({ metadata }) => metadata.name === name),
    defaultClass: undefined,
    waitingPods: [],
    ...facts,
  });
  if (plan.kind === 'bind') return `bind ${plan.volume.metadata.name}`;
  if (plan.kind === 'assignClass') return `assign ${plan.className}`;
  const what = plan.kind === 'provision' ? `provision ${plan.provisioner}` : plan.kind;
  return plan.word === undefined ? what : `${what}; ${plan.word.type} ${plan.word.reason}: ${plan.word.message}`;
}

describe('a claim that names no volume', () => {
  const ofClass = (storageClassName: string | undefined, annotations?: Record<string, string>): PersistentVolumeClaim =>
    buildClaim({ spec: { storageClassName }, ...(annotations !== undefined && { annotations }) });

  it('is bound to a suitable volume', () => {
    assert.equal(planned(buildClaim({}), { volumes: [buildVolume('v')] }), 'bind v');
  });

  it('waits for a suitable volume if it has no class', () => {
    assert.equal(
      planned(buildClaim({}), { volumes: [buildVolume('v', { size: '1Gi' })] }),
      'pending; Normal FailedBinding: no persistent volumes available for this claim and no storage class is set',
    );
  });

  it('gets the default class only if it sets none and no volume is suitable', () => {
    const facts = { defaultClass: 'fast' };
    assert.equal(planned(ofClass(undefined), facts), 'assign fast');
    assert.equal(planned(ofClass(undefined), { ...facts, volumes: [buildVolume('v')] }), 'bind v');
    assert.match(planned(ofClass(''), facts), /^pending; Normal FailedBinding/);
    assert.match(
      planned(ofClass(undefined, { 'volume.beta.kubernetes.io/storage-class': '' }), facts),
      /^pending; Normal FailedBinding/,
    );
  });

  it('requests a volume from the provisioner of its class', () => {
    assert.equal(
      planned(ofClass('fast')),
      "provision example.com/disk; Normal ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'example.com/disk' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.",
    );
    assert.match(
      planned(ofClass(undefined, { 'volume.beta.kubernetes.io/storage-class': 'fast' })),
      /^provision example.com\/disk;/,
    );
  });

  it('gets an event if its class is missing or has an in-tree provisioner', () => {
    assert.equal(
      planned(ofClass('gone')),
      'pending; Warning ProvisioningFailed: storageclass.storage.k8s.io "gone" not found',
    );
    assert.equal(
      planned(ofClass('built-in')),
      'pending; Warning ProvisioningFailed: no volume plugin matched name: kubernetes.io/aws-ebs',
    );
  });

  it('names the pods it waits for, if its class uses WaitForFirstConsumer', () => {
    assert.equal(
      planned(ofClass('late')),
      'pending; Normal WaitForFirstConsumer: waiting for first consumer to be created before binding',
    );
    assert.equal(
      planned(ofClass('late'), { waitingPods: ['a'] }),
      'pending; Normal WaitForPodScheduled: waiting for pod a to be scheduled',
    );
    assert.equal(
      planned(ofClass('late'), { waitingPods: ['a', 'b'] }),
      'pending; Normal WaitForPodScheduled: waiting for pods a,b to be scheduled',
    );
    assert.match(
      planned(ofClass('late', { 'volume.kubernetes.io/selected-node': 'n1' })),
      /^provision example.com\/disk;/,
    );
  });

  it('is bound only to a volume reserved for it, if its class uses WaitForFirstConsumer', () => {
    const volumes = [buildVolume('v', { spec: { storageClassName: 'late' } })];
    assert.match(planned(ofClass('late'), { volumes }), /^pending; Normal WaitForFirstConsumer/);
    assert.equal(
      planned(ofClass('fast'), { volumes: [buildVolume('v', { spec: { storageClassName: 'fast' } })] }),
      'bind v',
    );
    const kept = buildVolume('v', {
      spec: { storageClassName: 'late' },
      claimRef: { namespace: 'default', name: 'data' },
    });
    assert.equal(planned(ofClass('late'), { volumes: [kept] }), 'bind v');
  });
});

describe('a claim that names a volume', () => {
  const claim = buildClaim({ spec: { volumeName: 'v' } });

  it('waits for the volume, and is bound to it', () => {
    assert.equal(planned(claim), 'pending');
    assert.equal(planned(claim, { volumes: [buildVolume('v')] }), 'bind v');
    assert.equal(
      planned(claim, { volumes: [buildVolume('v', { claimRef: { namespace: 'default', name: 'data' } })] }),
      'bind v',
    );
  });

  it('reports why it cannot be bound', () => {
    assert.equal(
      planned(claim, { volumes: [buildVolume('v', { size: '1Gi' })] }),
      'pending; Warning VolumeMismatch: Cannot bind to requested volume "v": requested PV is too small',
    );
    assert.equal(
      planned(claim, { volumes: [buildVolume('v', { claimRef: { namespace: 'default', name: 'other' } })] }),
      'pending; Warning FailedBinding: volume "v" already bound to a different claim.',
    );
  });
});

describe('a claim that was bound', () => {
  const bound = (volumeName?: string): PersistentVolumeClaim =>
    buildClaim({ annotations: { 'pv.kubernetes.io/bind-completed': 'yes' }, spec: { volumeName } });

  it('stays bound while the volume is bound to it or available', () => {
    const claimRef = { namespace: 'default', name: 'data', uid: 'uid-data' };
    assert.equal(planned(bound('v'), { volumes: [buildVolume('v', { claimRef })] }), 'bind v');
    assert.equal(planned(bound('v'), { volumes: [buildVolume('v')] }), 'bind v');
  });

  it('is Lost if its volume was deleted or is bound to another claim', () => {
    assert.equal(
      planned(bound()),
      'lost; Warning ClaimLost: Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
    );
    assert.equal(
      planned(bound('v')),
      'lost; Warning ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!',
    );
    assert.equal(
      planned(bound('v'), {
        volumes: [buildVolume('v', { claimRef: { namespace: 'default', name: 'data', uid: 'earlier' } })],
      }),
      'lost; Warning ClaimMisbound: Two claims are bound to the same volume, this one is bound incorrectly',
    );
  });
});

it('the default class is the newest one that is marked so; among equals the first by name', () => {
  const marked = (
    name: string,
    day: number,
    key = 'storageclass.kubernetes.io/is-default-class',
    value = 'true',
  ): StorageClass =>
    storageClass(name, {
      metadata: {
        name,
        namespace: '',
        uid: name,
        annotations: { [key]: value },
        creationTimestamp: `2026-01-0${day}T00:00:00Z`,
      },
    });
  const beta = 'storageclass.beta.kubernetes.io/is-default-class';
  const selected = (...given: StorageClass[]): (string | undefined)[] => [
    selectDefaultClass(given),
    selectDefaultClass(given.toReversed()),
  ];
  assert.deepEqual(selected(), [undefined, undefined]);
  assert.deepEqual(selected(storageClass('a'), marked('b', 1, undefined, 'false')), [undefined, undefined]);
  assert.deepEqual(selected(storageClass('a'), marked('b', 1)), ['b', 'b']);
  assert.deepEqual(selected(marked('a', 1), marked('b', 2, beta)), ['b', 'b']);
  assert.deepEqual(selected(marked('b', 1), marked('a', 1), marked('c', 1)), ['a', 'a']);
});
