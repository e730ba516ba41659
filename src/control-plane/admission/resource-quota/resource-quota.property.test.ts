import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { configMaps, pods, resourceQuotas } from '../../../api/client/resource-types.ts';
import type { ResourceQuota } from '../../../api/core/resource-quota.ts';
import { ApiStatusError, notFound, staleObject } from '../../../api/status/api-status-error.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { AdmissionFixture } from '../testing/admission-fixture.ts';
import type { QuotaLedger } from './quota-queues.ts';
import { createResourceQuota } from './resource-quota.ts';

const key = { namespace: 'default', name: 'q' };
const configMap = (name: string) => ({ metadata: { name, namespace: 'default', uid: '' } });

/**
 * A store with one quota, and what each of several servers reads of it: a correct version, but not always the newest.
 */
class Store {
  quota: ResourceQuota;
  writes = 0;
  readonly fixtures: AdmissionFixture[] = [];
  #version = 1;

  constructor(hard: Record<string, string>) {
    const used = Object.fromEntries(Object.keys(hard).map((name) => [name, '0']));
    this.quota = { metadata: { ...key, uid: 'q', resourceVersion: '1' }, spec: { hard }, status: { hard, used } };
  }

  server(isLate: () => boolean) {
    const fixture = new AdmissionFixture();
    fixture.reader.put(resourceQuotas, this.quota);
    this.fixtures.push(fixture);
    const ledger: QuotaLedger = {
      get: () => Promise.resolve(this.quota),
      write: async (next) => {
        await Promise.resolve();
        if (next.metadata.resourceVersion !== this.quota.metadata.resourceVersion)
          throw staleObject(resourceQuotas, 'q');
        this.writes++;
        this.quota = { ...next, metadata: { ...next.metadata, resourceVersion: String(++this.#version) } };
        for (const each of this.fixtures) if (!isLate()) each.reader.put(resourceQuotas, this.quota);
        return this.quota;
      },
    };
    return { fixture, plugin: createResourceQuota({ reader: fixture.reader, ledger, nowMs: () => 0, limited: [] }) };
  }
}

describe('ResourceQuota', () => {
  it('never admits more than the quota allows, nor less, with any number of clients and servers at the same time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(8),
        fc.array(fc.record({ server: fc.nat(2), again: fc.boolean() }), { maxLength: 30 }),
        fc.infiniteStream(fc.boolean()),
        async (most, asks, late) => {
          const store = new Store({ configmaps: String(most) });
          const servers = [0, 1, 2].map(() => store.server(() => late.next().value));
          const outcomes: string[] = [];
          let batch: Promise<unknown>[] = [];
          for (const [index, { server, again }] of asks.entries()) {
            const { fixture, plugin } = servers[server] ?? assert.fail();
            batch.push(
              fixture
                .refusal(plugin, configMaps, { object: configMap(`c${index}`) })
                .then((refusal) => outcomes.push(refusal)),
            );
            if (again) batch = [void (await Promise.all(batch)) as never];
          }
          await Promise.all(batch);
          const passed = outcomes.filter((refusal) => refusal === '').length;
          assert.equal(passed, Math.min(most, asks.length));
          assert.equal(store.quota.status?.used?.['configmaps'], String(passed));
          for (const refusal of outcomes.filter((each) => each !== ''))
            assert.match(
              refusal,
              /exceeded quota: q, requested: configmaps=1, used: configmaps=\d+, limited: configmaps=\d+$/,
            );
        },
      ),
      { numRuns: 200 },
    );
  });

  it('writes the quota once for many concurrent requests', async () => {
    const store = new Store({ configmaps: '100' });
    const { fixture, plugin } = store.server(() => true);
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => fixture.refusal(plugin, configMaps, { object: configMap(`c${index}`) })),
    );
    assert.equal(store.quota.status?.used?.['configmaps'], '50');
    assert.ok(store.writes <= 2, `${store.writes} writes`);
  });

  it('checks a dry run without charging it', async () => {
    const store = new Store({ pods: '1' });
    const { fixture, plugin } = store.server(() => false);
    assert.equal(await fixture.refusal(plugin, pods, { object: buildPod(), dryRun: true }), '');
    assert.equal(store.writes, 0);
    assert.equal(await fixture.refusal(plugin, pods, { object: buildPod() }), '');
    assert.equal(
      await fixture.refusal(plugin, pods, { object: buildPod(), dryRun: true }),
      'pods "web" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
    );
  });

  it('does nothing without a quota, or when it was deleted meanwhile', async () => {
    const fixture = new AdmissionFixture();
    const ledger: QuotaLedger = {
      get: () => Promise.reject(notFound(resourceQuotas, 'q')),
      write: () => Promise.reject(notFound(resourceQuotas, 'q')),
    };
    const plugin = createResourceQuota({ reader: fixture.reader, ledger, nowMs: () => 0, limited: [] });
    assert.equal(await fixture.refusal(plugin, pods, { object: buildPod() }), '');
    fixture.reader.put(resourceQuotas, new Store({ pods: '1' }).quota);
    assert.equal(await fixture.refusal(plugin, pods, { object: buildPod() }), '');
  });

  it('admits nothing when the charge cannot be written, and recovers afterwards', async () => {
    const fixture = new AdmissionFixture();
    const store = new Store({ pods: '1' });
    fixture.reader.put(resourceQuotas, store.quota);
    let write: QuotaLedger['write'] = () => Promise.reject(new ApiStatusError('ServiceUnavailable', 'no store'));
    const plugin = createResourceQuota({
      reader: fixture.reader,
      ledger: { get: () => Promise.resolve(store.quota), write: (quota) => write(quota) },
      nowMs: () => 0,
      limited: [],
    });
    assert.equal(await fixture.refusal(plugin, pods, { object: buildPod() }), 'no store');
    write = () => Promise.reject(staleObject(resourceQuotas, 'q'));
    assert.match(
      await fixture.refusal(plugin, pods, { object: buildPod() }),
      /^Operation cannot be fulfilled on resourcequotas "q"/,
    );
    write = (quota) => Promise.resolve(quota);
    assert.equal(await fixture.refusal(plugin, pods, { object: buildPod() }), '');
  });

  it('reports scopes that no quota covers as upstream does, without a reason', async () => {
    const fixture = new AdmissionFixture();
    const ledger: QuotaLedger = { get: () => assert.fail(), write: () => assert.fail() };
    const matchScopes = [{ scopeName: 'PriorityClass' as const, operator: 'In' as const, values: ['high', 'higher'] }];
    const plugin = createResourceQuota({
      reader: fixture.reader,
      ledger,
      nowMs: () => 0,
      limited: [{ apiGroup: '', resource: 'pods', matchContains: [], matchScopes }],
    });
    const { error } = await fixture.write(plugin, pods, { object: buildPod({ 'spec.priorityClassName': 'high' }) });
    assert.deepEqual(
      [error?.message, error?.code, error?.toStatus().reason],
      ['insufficient quota to match these scopes: [{PriorityClass In [high higher]}]', 500, undefined],
    );
    assert.equal(await fixture.refusal(plugin, pods, { object: buildPod() }), '');
  });

  it('is only called for requests that may increase the usage', () => {
    const fixture = new AdmissionFixture();
    const store = new Store({});
    const { plugin } = store.server(() => false);
    const handles = (write: Parameters<typeof fixture.attributes>[1]) =>
      plugin.handles(fixture.attributes(pods, write as never));
    assert.deepEqual(
      [
        handles({ object: buildPod() }),
        handles({ object: buildPod(), old: buildPod() }),
        handles({ object: buildPod(), old: buildPod(), subresource: 'status' }),
        handles({ old: buildPod() }),
      ],
      [true, false, false, false],
    );
    assert.equal(handles({ object: buildPod(), old: buildPod(), subresource: 'resize' }), true);
    assert.equal(handles({ object: buildPod({ 'spec.activeDeadlineSeconds': 1 }), old: buildPod() }), true);
  });
});
