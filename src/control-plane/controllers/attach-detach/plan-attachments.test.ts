import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { attachmentName, csiVolumeKey } from '../../../api/attachable-volume.ts';
import type { Node } from '../../../api/core/node.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { planAttachments } from './plan-attachments.ts';
import type { AttachFacts, AttachPlan, WantedVolume } from './plan-attachments.ts';

const NODE = 'n1';
const NOW_MS = Date.parse('2026-01-01T01:00:00Z');
const MINUTE_MS = 60_000;
const pod = buildPod();
const keyOf = (handle: string): string => csiVolumeKey('d', handle);
const nameOf = (handle: string): string => attachmentName(handle, 'd', NODE);

const csi = (handle: string, isShared = false): WantedVolume => ({
  ...{ key: keyOf(handle), name: `pv-${handle}`, isShared, pod },
  csi: { driver: 'd', handle, source: { persistentVolume: `pv-${handle}` } },
});
/** Builds a volume that only the node's status must list. */
const iscsi = (name: string, isShared = false): WantedVolume => ({ key: `iscsi/${name}`, name, isShared, pod });

interface GivenAttachment {
  readonly attached?: boolean;
  readonly leaving?: boolean;
  readonly error?: string;
  readonly name?: string;
}

const attachment = (
  handle: string,
  { attached = true, leaving = false, error, name }: GivenAttachment = {},
): VolumeAttachment => ({
  metadata: {
    ...{ name: name ?? nameOf(handle), namespace: '', uid: handle },
    ...(leaving && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  },
  spec: { attacher: 'd', nodeName: NODE, source: { persistentVolumeName: `pv-${handle}` } },
  status: { attached, ...(error !== undefined && { attachError: { message: error } }) },
});

interface GivenNode {
  readonly attached?: readonly string[];
  readonly inUse?: readonly string[];
  readonly ready?: 'True' | 'False' | 'Unknown';
  readonly outOfService?: boolean;
}

const outOfServiceTaint = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' as const };

function node(given: GivenNode = {}): Pick<Node, 'spec' | 'status'> {
  const { attached = [], inUse = [], ready = 'True', outOfService = false } = given;
  return {
    spec: { taints: outOfService ? [outOfServiceTaint] : [] },
    status: {
      volumesAttached: attached.map((name) => ({ name, devicePath: '' })),
      volumesInUse: [...inUse],
      conditions: [
        { type: 'DiskPressure', status: 'True' },
        { type: 'Ready', status: ready },
      ],
    },
  };
}

function plan(facts: Partial<AttachFacts>): AttachPlan {
  return planAttachments({
    ...{ nodeName: NODE, node: node(), wanted: [], attachments: [], elsewhere: new Set() },
    ...{ unwantedSinceMs: new Map(), nowMs: NOW_MS },
    ...facts,
  });
}

const words = ({ said }: AttachPlan): string[] =>
  said.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

describe('a volume that pods of the node want', () => {
  it('gets a VolumeAttachment, and is listed in the status only when it is attached', () => {
    const result = plan({ wanted: [csi('a')] });
    assert.deepEqual(result.create, [
      {
        metadata: { name: nameOf('a'), namespace: '', uid: '' },
        spec: { attacher: 'd', nodeName: NODE, source: { persistentVolumeName: 'pv-a' } },
      },
    ]);
    assert.deepEqual(
      [result.attached, result.remove, result.said, result.leaving, result.recheckMs],
      [undefined, [], [], [], undefined],
    );
  });

  it('is listed in the status once it is attached, with an event', () => {
    const result = plan({ wanted: [csi('a')], attachments: [attachment('a')] });
    assert.deepEqual(result.attached, [keyOf('a')]);
    assert.deepEqual(result.create, []);
    assert.deepEqual(words(result), [
      'Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv-a" ',
    ]);
    const settled = plan({
      node: node({ attached: [keyOf('a')] }),
      wanted: [csi('a')],
      attachments: [attachment('a')],
    });
    assert.deepEqual([settled.attached, settled.said, settled.remove], [undefined, [], []]);
  });

  it('is not detached while the node uses it', () => {
    const used = node({ attached: [keyOf('a')], inUse: [keyOf('a')] });
    const result = plan({ node: used, wanted: [csi('a')], attachments: [attachment('a')] });
    assert.deepEqual([result.leaving, result.remove, result.attached], [[], [], undefined]);
  });

  it('is attached to a node that has not reported anything yet', () => {
    const { status: _, ...unanswered } = attachment('a');
    assert.equal(plan({ node: {}, wanted: [csi('a')], attachments: [unanswered] }).attached, undefined);
    assert.deepEqual(plan({ node: {}, wanted: [csi('a')], attachments: [attachment('a')] }).attached, [keyOf('a')]);
  });

  it('is not listed while it is not attached, or while it is being detached', () => {
    for (const given of [{ attached: false }, { leaving: true }]) {
      const result = plan({ wanted: [csi('a')], attachments: [attachment('a', given)] });
      assert.deepEqual([result.attached, result.create, result.said], [undefined, [], []]);
    }
  });

  it('is removed from the status if it was listed too early', () => {
    const early = { node: node({ attached: [keyOf('a')] }), wanted: [csi('a')] };
    assert.deepEqual(plan({ ...early, attachments: [attachment('a', { attached: false })] }).attached, []);
    assert.deepEqual(plan(early).attached, []);
    assert.equal(plan(early).create.length, 1);
  });

  it("reports the driver's error if it cannot be attached", () => {
    const result = plan({
      wanted: [csi('a')],
      attachments: [attachment('a', { attached: false, error: 'no such disk' })],
    });
    assert.deepEqual(words(result), [
      'Warning FailedAttachVolume: AttachVolume.Attach failed for volume "pv-a" : no such disk',
    ]);
    assert.deepEqual([result.attached, result.said[0]?.pod], [undefined, pod]);
  });

  it('is only listed if no driver attaches it', () => {
    const result = plan({ wanted: [iscsi('x')] });
    assert.deepEqual([result.attached, result.create], [['iscsi/x'], []]);
    assert.deepEqual(words(result), ['Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "x" ']);
  });

  it('keeps its position in the status, and new volumes follow', () => {
    const facts = {
      node: node({ attached: [keyOf('b'), keyOf('a')] }),
      attachments: ['a', 'b', 'c'].map((each) => attachment(each)),
    };
    assert.deepEqual(plan({ ...facts, wanted: [csi('a'), csi('b'), csi('c')] }).attached, [
      keyOf('b'),
      keyOf('a'),
      keyOf('c'),
    ]);
    assert.deepEqual(plan({ ...facts, wanted: [csi('a'), csi('b')] }).attached, undefined);
    assert.deepEqual(plan({ ...facts, wanted: [csi('a'), csi('c')] }).attached, [keyOf('a'), keyOf('c')]);
  });
});

describe('a volume that another node has', () => {
  const elsewhere = new Set([keyOf('a'), 'iscsi/x']);

  it('waits until the volume is detached from that node, and reports it', () => {
    const result = plan({ wanted: [csi('a')], elsewhere });
    assert.deepEqual([result.create, result.attached], [[], undefined]);
    assert.deepEqual(words(result), [
      `Warning FailedAttachVolume: Multi-Attach error for volume "pv-a" Volume is already exclusively attached to one node and can't be attached to another`,
    ]);
    assert.equal(plan({ wanted: [iscsi('x')], elsewhere }).attached, undefined);
  });

  it('does not wait if nodes may share it, or if this node has it too', () => {
    assert.equal(plan({ wanted: [csi('a', true)], elsewhere }).create.length, 1);
    assert.deepEqual(plan({ wanted: [csi('a')], attachments: [attachment('a')], elsewhere }).attached, [keyOf('a')]);
    assert.equal(plan({ node: node({ attached: [keyOf('a')] }), wanted: [csi('a')], elsewhere }).create.length, 1);
    assert.deepEqual(words(plan({ node: node({ attached: ['iscsi/x'] }), wanted: [iscsi('x')], elsewhere })), []);
  });

  it('does not delay the attachment of other volumes', () => {
    assert.deepEqual(plan({ wanted: [csi('a'), iscsi('y')], elsewhere }).attached, ['iscsi/y']);
  });
});

describe('a volume that no pod wants any more', () => {
  const left = (given: GivenNode, facts: Partial<AttachFacts> = {}): AttachPlan =>
    plan({ node: node({ attached: [keyOf('a')], ...given }), attachments: [attachment('a')], ...facts });
  const sinceMinutes = (minutes: number): Partial<AttachFacts> => ({
    unwantedSinceMs: new Map([[keyOf('a'), NOW_MS - minutes * MINUTE_MS]]),
  });
  const kept = (result: AttachPlan): void => assert.deepEqual([result.attached, result.remove], [undefined, []]);
  const gone = (result: AttachPlan): void => assert.deepEqual([result.attached, result.remove], [[], [nameOf('a')]]);

  it('is removed from the status and detached when the node does not use it', () => {
    const result = left({});
    gone(result);
    assert.deepEqual([result.leaving, result.recheckMs], [[], undefined]);
    assert.deepEqual(plan({ node: node({ attached: ['iscsi/x'] }) }).attached, []);
  });

  it('stays attached while a responding node uses it', () => {
    const result = left({ inUse: [keyOf('a')] }, sinceMinutes(60));
    kept(result);
    assert.deepEqual([result.leaving, result.recheckMs], [[keyOf('a')], undefined]);
  });

  it('is detached from a node that has not responded for six minutes', () => {
    for (const ready of ['False', 'Unknown'] as const) {
      const early = left({ inUse: [keyOf('a')], ready }, sinceMinutes(5));
      kept(early);
      assert.deepEqual([early.leaving, early.recheckMs], [[keyOf('a')], MINUTE_MS]);
      const due = left({ inUse: [keyOf('a')], ready }, sinceMinutes(6));
      gone(due);
      assert.deepEqual([due.leaving, due.recheckMs], [[keyOf('a')], undefined]);
    }
    assert.equal(left({ inUse: [keyOf('a')], ready: 'False' }).recheckMs, 6 * MINUTE_MS);
  });

  it('is detached at once from a node that is out of service', () => {
    const result = left({ inUse: [keyOf('a')], outOfService: true });
    gone(result);
    assert.deepEqual(result.leaving, []);
  });

  it('is detached if the status does not list it', () => {
    assert.deepEqual(plan({ node: node({ inUse: [keyOf('a')] }), attachments: [attachment('a')] }).remove, [
      nameOf('a'),
    ]);
  });

  it('is detached once, and only if this controller attached it', () => {
    assert.deepEqual(left({}, { attachments: [attachment('a', { leaving: true })] }).remove, []);
    assert.deepEqual(left({}, { attachments: [attachment('a', { name: 'by-hand' })] }).remove, []);
  });

  it('may have a handle with any characters', () => {
    const [key, handle] = [csiVolumeKey('d', 'x^y/z'), 'x^y/z'];
    const facts = { node: node({ attached: [key], inUse: [key] }), attachments: [attachment(handle)] };
    assert.deepEqual(plan(facts).remove, []);
    assert.deepEqual(plan({ ...facts, node: node({ attached: [key] }) }).remove, [nameOf(handle)]);
  });

  it('sets the time of the next check to the first forced detachment', () => {
    const result = plan({
      node: node({ attached: [keyOf('a'), keyOf('b')], inUse: [keyOf('a'), keyOf('b')], ready: 'Unknown' }),
      unwantedSinceMs: new Map([
        [keyOf('a'), NOW_MS - MINUTE_MS],
        [keyOf('b'), NOW_MS - 2 * MINUTE_MS],
      ]),
    });
    assert.deepEqual([result.leaving, result.recheckMs], [[keyOf('a'), keyOf('b')], 4 * MINUTE_MS]);
  });
});

describe('a node that was deleted', () => {
  const since = (minutes: number): AttachPlan =>
    plan({
      node: undefined,
      attachments: [attachment('a')],
      unwantedSinceMs: new Map([[nameOf('a'), NOW_MS - minutes * MINUTE_MS]]),
    });

  it('loses its volumes after six minutes, because its state is unknown', () => {
    assert.deepEqual([since(5).remove, since(5).leaving, since(5).recheckMs], [[], [nameOf('a')], MINUTE_MS]);
    assert.deepEqual(since(6).remove, [nameOf('a')]);
  });

  it('has no status to write', () => {
    const result = plan({ node: undefined, wanted: [csi('a')], attachments: [attachment('a')] });
    assert.deepEqual([result.attached, result.remove], [undefined, []]);
  });
});
