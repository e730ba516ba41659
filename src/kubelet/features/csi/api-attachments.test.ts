import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { attachmentName } from '../../../api/attachable-volume.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { volumeAttachments } from '../../../api/client/resource-types.ts';
import type { VolumeAttachmentStatus } from '../../../api/storage/volume-attachment.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { ApiAttachments } from './api-attachments.ts';

const name = attachmentName('h', 'd', 'node1');

function setUp(status?: VolumeAttachmentStatus, metadata: object = {}) {
  const api = new FakeApiClient({ clock: new FakeClock() });
  const exhausted: string[] = [];
  if (status !== undefined)
    api.seed(volumeAttachments, {
      metadata: { name, namespace: '', uid: '', ...metadata },
      spec: { attacher: 'd', nodeName: 'node1', source: {} },
      status,
    });
  return {
    attachments: new ApiAttachments({
      client: api,
      nodeName: 'node1',
      onExhausted: (driver) => exhausted.push(driver),
    }),
    exhausted,
  };
}

const failure = async (status?: VolumeAttachmentStatus, metadata?: object): Promise<string> =>
  setUp(status, metadata)
    .attachments.check('d', 'h')
    .then(
      () => 'attached',
      (error: unknown) => (error as Error).message,
    );

describe('the volumes attached to the node', () => {
  it("an attached volume is what its VolumeAttachment says, in upstream's words", async () => {
    assert.equal(await failure({ attached: true }), 'attached');
    assert.equal(await failure({ attached: false }), `volume h is not attached for volume attachment ${name}`);
    assert.equal(await failure({ attached: false, attachError: { message: 'no such disk' } }), 'no such disk');
    assert.equal(
      await failure({ attached: true }, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x'] }),
      'volume attachment is being deleted',
    );
    assert.equal(
      await failure(),
      `volume h has GET error for volume attachment ${name}: volumeattachments.storage.k8s.io "${name}" not found`,
    );
  });

  it('an attached volume comes with what the driver needs to publish it', async () => {
    const { attachments } = setUp({ attached: true, attachmentMetadata: { device: '/dev/x' } });
    assert.deepEqual(await attachments.publishContext('d', 'h'), { device: '/dev/x' });
  });

  it('stops when the node has no room: then the driver is queried for its limit', async () => {
    const { attachments, exhausted } = setUp({ attached: false, attachError: { message: 'full', errorCode: 8 } });
    await assert.rejects(attachments.check('d', 'h'), { message: 'full' });
    assert.deepEqual(exhausted, ['d']);
  });
});
