import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { CertificateSigningRequest } from '../../../api/certificates/certificate-signing-request.ts';
import { certificateSigningRequests } from '../../../api/client/resource-types.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { formatTime } from '../../../api/time.ts';
import type { WriteOptions } from '../../../api/client/api-client.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createCertificateApprover } from './certificate-approver.ts';
import { createCertificateCleaner } from './certificate-cleaner.ts';
import { createCertificateSigner } from './certificate-signer.ts';
import type { Signed } from './certificate-signer.ts';
import { removableAtMs } from './request-state.ts';

type Condition = NonNullable<NonNullable<CertificateSigningRequest['status']>['conditions']>[number];
const approved: Condition = { type: 'Approved', status: 'True', reason: 'AutoApproved', message: 'm' };
const key = { namespace: '', name: 'csr' };

function build(
  changes: Partial<CertificateSigningRequest['spec']> = {},
  status: CertificateSigningRequest['status'] = {},
): CertificateSigningRequest {
  return {
    metadata: { ...key, uid: 'csr' },
    spec: {
      request: 'cGVt',
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      username: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers'],
      ...changes,
    },
    status,
  };
}

async function setUp(
  make: (options: ControllerOptions) => Controller,
  request: CertificateSigningRequest,
): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (options) => [make(options)] });
  world.api.seed(certificateSigningRequests, request);
  world.start();
  await world.clock.advance(2_000);
  return world;
}

/** A long time in which no controller runs, so that no watch is renewed. */
async function skip(world: ControllerWorld, forMs: number): Promise<void> {
  await world.stop();
  await world.clock.advance(forMs);
  world.start();
}

/** Reviews are answered, not kept. */
function approver(
  may: (subresource: string) => boolean,
  name: string | undefined,
  asked: string[] = [],
): (options: ControllerOptions) => Controller {
  return (options) => {
    const { client } = options;
    const answering = Object.assign(Object.create(client) as typeof client, {
      get: client.get.bind(client),
      list: client.list.bind(client),
      update: client.update.bind(client),
      create: async <T extends ApiObject>(type: ResourceType<T>, object: T, more?: WriteOptions): Promise<T> => {
        if (type.plural !== 'subjectaccessreviews') return client.create(type, object, more);
        const { spec } = object as unknown as { spec: { user: string; resourceAttributes: { subresource: string } } };
        asked.push(`${spec.user} ${spec.resourceAttributes.subresource}`);
        return { ...object, status: { allowed: may(spec.resourceAttributes.subresource) } };
      },
    });
    return createCertificateApprover({ ...options, client: answering, kubeletClientName: () => name });
  };
}

const conditionsOf = (world: ControllerWorld): readonly Condition[] =>
  world.api.peek(certificateSigningRequests, key)?.status?.conditions ?? [];
const writes = (world: ControllerWorld): string[] =>
  world.api.writes.filter((each) => each.includes('certificatesigningrequests'));

it("a kubelet's first certificate is approved for users with permission", async () => {
  const asked: string[] = [];
  const world = await setUp(
    approver((subresource) => subresource === 'nodeclient', 'system:node:a', asked),
    build(),
  );
  assert.deepEqual(
    [
      conditionsOf(world).map(({ type, status, reason, message }) => ({ type, status, reason, message })),
      asked,
      writes(world),
    ],
    [
      [
        {
          type: 'Approved',
          status: 'True',
          reason: 'AutoApproved',
          message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
        },
      ],
      ['system:bootstrap:abcdef nodeclient'],
      ['update certificatesigningrequests/approval csr'],
    ],
  );
  await world.stop();
});

it('a kubelet may renew its own, by the right to do just that', async () => {
  const asked: string[] = [];
  const world = await setUp(
    approver(() => true, 'system:node:a', asked),
    build({ username: 'system:node:a' }),
  );
  assert.deepEqual(
    [conditionsOf(world)[0]?.message, asked],
    ['Auto approving self kubelet client certificate after SubjectAccessReview.', ['system:node:a selfnodeclient']],
  );
  await world.stop();
});

it('other requests, and decided ones, cause no access review', async () => {
  for (const [request, name] of [
    [build(), undefined],
    [build({}, { conditions: [{ ...approved, type: 'Denied' }] }), 'system:node:a'],
    [build({}, { conditions: [approved] }), 'system:node:a'],
    [build({}, { certificate: 'cGVt' }), 'system:node:a'],
  ] as const) {
    const asked: string[] = [];
    const world = await setUp(
      approver(() => true, name, asked),
      request,
    );
    assert.deepEqual([asked, writes(world)], [[], []]);
    await world.stop();
  }
});

it('a request is approved later when its requester gets the permission', async () => {
  let may = false;
  const world = await setUp(
    approver(() => may, 'system:node:a'),
    build(),
  );
  assert.deepEqual(conditionsOf(world), []);
  may = true;
  await world.clock.advance(31_000);
  assert.equal(conditionsOf(world).length, 1);
  await world.stop();
});

it('an approved request is signed once; an invalid one gets a condition that names the problem', async () => {
  const signing = (outcome: Signed, count: { calls: number }) => (options: ControllerOptions) =>
    createCertificateSigner({
      ...options,
      sign: async () => {
        count.calls++;
        return outcome;
      },
    });
  const count = { calls: 0 };
  const signed = await setUp(
    signing({ kind: 'signed', certificate: 'Y2VydA==' }, count),
    build({}, { conditions: [approved] }),
  );
  await signed.clock.advance(60_000);
  assert.deepEqual(
    [signed.api.peek(certificateSigningRequests, key)?.status?.certificate, count.calls, writes(signed)],
    ['Y2VydA==', 1, ['update certificatesigningrequests/status csr']],
  );
  const refused = await setUp(
    signing({ kind: 'refused', message: 'missing required usage' }, count),
    build({}, { conditions: [approved] }),
  );
  assert.deepEqual(conditionsOf(refused).at(-1), {
    type: 'Failed',
    status: 'True',
    reason: 'SignerValidationFailure',
    message: 'missing required usage',
  });
  const before = count.calls;
  const ignored = await setUp(
    signing({ kind: 'ignored' }, count),
    build({ signerName: 'example.com/mine' }, { conditions: [approved] }),
  );
  const pending = await setUp(signing({ kind: 'signed', certificate: 'x' }, count), build());
  assert.deepEqual([writes(ignored), writes(pending), count.calls - before], [[], [], 1]);
  await Promise.all([signed, refused, ignored, pending].map((world) => world.stop()));
});

it('requests are deleted an hour after a decision, a day without one, and when their certificate expires', async () => {
  const atMs = Date.parse('2026-01-01T00:00:00Z');
  const hour = 3_600_000;
  const at = (status: CertificateSigningRequest['status'], expiresAtMs?: number): number =>
    (removableAtMs(
      { ...build({}, status), metadata: { ...key, uid: 'csr', creationTimestamp: '2026-01-01T00:00:00Z' } },
      expiresAtMs,
    ) -
      atMs) /
    hour;
  const updated = { ...approved, lastUpdateTime: '2026-01-01T02:00:00Z' };
  assert.deepEqual(
    [
      at({}),
      at({ conditions: [updated] }),
      at({ conditions: [updated], certificate: 'x' }),
      at({ conditions: [{ ...updated, type: 'Denied' }] }),
      at({ conditions: [{ ...updated, type: 'Failed' }] }),
      at({ certificate: 'x' }, atMs + hour / 2),
    ],
    [24, 24, 3, 3, 3, 0.5],
  );
  const world = await setUp(
    (options) => createCertificateCleaner({ ...options, expiresAtMs: () => undefined }),
    build(),
  );
  await world.clock.advance(23 * hour);
  assert.deepEqual(world.api.writes, []);
  await world.clock.advance(hour);
  assert.deepEqual(world.api.writes, ['delete certificatesigningrequests csr']);
  await world.stop();
});

it('removes each request on time and none before, killed at any write and with late events', () => {
  const hour = 3_600_000;
  const decision = fc.constantFrom('Approved', 'Denied', 'Failed', 'none');
  const step = fc.record({ name: fc.constantFrom('a', 'b'), decision, writes: fc.integer({ min: 1, max: 3 }) });
  return fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), fc.nat(1_000), async (steps, seed) => {
      const world = new ControllerWorld({
        make: (options) => [createCertificateCleaner({ ...options, expiresAtMs: () => undefined })],
        seed,
        lagMs: 600,
      });
      let due = new Map<string, number>();
      world.check = () => {
        const found = world.api.all(certificateSigningRequests);
        const uids = new Set(found.map(({ metadata }) => metadata.uid));
        for (const [uid, atMs] of due) assert.ok(uids.has(uid) || world.clock.nowMs() >= atMs, `${uid} is gone early`);
        due = new Map(found.map((each) => [each.metadata.uid, removableAtMs(each, undefined)]));
      };
      world.start();
      for (const [serial, each] of steps.entries()) {
        const named = { namespace: '', name: each.name };
        const time = formatTime(world.clock.nowMs());
        world.restartAtWrite(each.writes);
        if (world.api.peek(certificateSigningRequests, named) === undefined)
          world.api.seed(certificateSigningRequests, {
            ...build(),
            metadata: { ...named, uid: `${each.name}-${serial}`, creationTimestamp: time },
          });
        else if (each.decision !== 'none')
          world.api.change(certificateSigningRequests, named, (request) => ({
            ...request,
            status: { certificate: 'x', conditions: [{ ...approved, type: each.decision, lastUpdateTime: time }] },
          }));
        world.check();
        await world.clock.advance(world.random.next() * 120_000);
        await skip(world, Math.floor(world.random.next() * 2 * hour));
      }
      await skip(world, 25 * hour);
      await world.clock.advance(5_000);
      assert.deepEqual(world.api.all(certificateSigningRequests), []);
      await world.stop();
    }),
    { numRuns: 30 },
  );
});
