import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CLEANUP_FINALIZER } from '../../api/apiextensions/custom-resource-definition.ts';
import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import { customResourceDefinitions } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { FakeObjectReader } from '../model/testing/fake-object-reader.ts';
import { createCrdController } from './crd-controller.ts';
import { customPlace } from './define-custom-kind.ts';

function definition(kind: string, more: Partial<CustomResourceDefinition['metadata']> = {}): CustomResourceDefinition {
  const plural = `${kind.toLowerCase()}s`;
  return {
    metadata: { name: `${plural}.shop.io`, namespace: '', uid: kind, finalizers: [CLEANUP_FINALIZER], ...more },
    spec: {
      group: 'shop.io',
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
    status: { conditions: [], acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
  };
}

/** Changes the finalizers of a definition with its status, as the server does. */
function withFinalizers(api: FakeApiClient): ApiClient {
  const update: ApiClient['update'] = async (type, object, options) => {
    const written = await api.update(type, object, options);
    const { finalizers } = object.metadata;
    if (JSON.stringify(written.metadata.finalizers) === JSON.stringify(finalizers)) return written;
    return api.update(type, { ...written, metadata: { ...written.metadata, finalizers } });
  };
  return new Proxy(api, { get: (target, name) => (name === 'update' ? update : bound(target, name)) });
}

function bound(target: FakeApiClient, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === 'function' ? value.bind(target) : value;
}

/** A server whose cache the controller reads. The cache follows every write immediately. */
class Fixture {
  readonly clock = new FakeClock();
  readonly api = new FakeApiClient({ clock: this.clock, random: seededRandom(1) });
  readonly reader = new FakeObjectReader();
  readonly controller = createCrdController({
    reader: this.reader,
    client: withFinalizers(this.api),
    clock: this.clock,
    log: silentLogger,
  });

  put(given: CustomResourceDefinition): void {
    this.api.seed(customResourceDefinitions, given);
    this.sync();
  }

  /** Updates the cache to the stored state. */
  sync(): void {
    const stored = new Map(this.api.all(customResourceDefinitions).map((each) => [each.metadata.name, each]));
    for (const { metadata } of this.reader.list(customResourceDefinitions, ''))
      if (!stored.has(metadata.name)) this.reader.remove(customResourceDefinitions, metadata);
    for (const each of stored.values())
      if (this.reader.get(customResourceDefinitions, each.metadata) !== each)
        this.reader.put(customResourceDefinitions, each);
  }

  /** Runs the controller until nothing changes any more. */
  async settle(ms = 1): Promise<void> {
    for (let turn = 0; turn < 6; turn++) {
      await this.clock.advance(ms);
      await new Promise((resolve) => setImmediate(resolve));
      this.sync();
    }
  }

  find(name: string): CustomResourceDefinition | undefined {
    return this.api.all(customResourceDefinitions).find(({ metadata }) => metadata.name === name);
  }

  conditions(name: string): readonly string[] {
    return (this.find(name)?.status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
  }

  get writes(): number {
    return this.api.calls.filter(({ verb }) => verb === 'update').length;
  }
}

const established = ['NamesAccepted=True NoConflicts', 'Established=True InitialNamesAccepted'];
const { type: rings } = customPlace(definition('Ring'));
const ring = (name: string, more: object = {}) => ({ metadata: { name, namespace: 'n', uid: name, ...more } });

describe('the controller of custom resource definitions', () => {
  it('establishes those that are there and those that come, and then writes nothing more', async () => {
    const world = new Fixture();
    world.put(definition('Ring'));
    world.controller.start();
    await world.settle();
    world.put(definition('Cup'));
    await world.settle();
    assert.deepEqual(world.conditions('rings.shop.io'), established);
    assert.deepEqual(world.conditions('cups.shop.io'), established);
    const { writes } = world;
    await world.settle(10_000);
    assert.equal(world.writes, writes);
    await world.controller.stop();
  });

  it('writes a status without the schemas, which the server keeps', async () => {
    const world = new Fixture();
    const ring = definition('Ring');
    world.put(ring);
    world.controller.start();
    await world.settle();
    const written = world.api.calls.filter(({ verb }) => verb === 'update').map(({ body }) => body);
    const { schema: _, ...version } = ring.spec.versions[0] ?? {};
    assert.partialDeepStrictEqual(written, [{ spec: { ...ring.spec, versions: [version] } }]);
    assert.ok(!JSON.stringify(written).includes('openAPIV3Schema'));
    assert.deepEqual(world.find('rings.shop.io')?.spec, ring.spec);
    await world.controller.stop();
  });

  it('accepts names when the definition that had them is gone', async () => {
    const world = new Fixture();
    world.controller.start();
    const cup = definition('Cup');
    world.put(definition('Ring'));
    await world.settle();
    world.put({ ...cup, spec: { ...cup.spec, names: { ...cup.spec.names, singular: 'ring' } } });
    await world.settle();
    assert.equal(world.conditions('cups.shop.io')[0], 'NamesAccepted=False SingularConflict');
    world.api.remove(customResourceDefinitions, { namespace: '', name: 'rings.shop.io' });
    await world.settle();
    assert.equal(world.conditions('cups.shop.io')[0], 'NamesAccepted=True NoConflicts');
    await world.controller.stop();
  });

  it('accepts a name of two definitions that are created at once for one of them', async () => {
    for (const first of ['Cup', 'Ring']) {
      const world = new Fixture();
      const make = (kind: string): void => {
        const each = definition(kind);
        world.api.seed(customResourceDefinitions, {
          ...each,
          spec: { ...each.spec, names: { ...each.spec.names, kind: 'Both' } },
        });
      };
      make(first);
      make(first === 'Cup' ? 'Ring' : 'Cup');
      world.sync();
      world.controller.start();
      await world.settle();
      const [winner, loser] = first === 'Cup' ? ['cups', 'rings'] : ['rings', 'cups'];
      assert.deepEqual(world.conditions(`${winner}.shop.io`), established);
      assert.equal(world.conditions(`${loser}.shop.io`)[0], 'NamesAccepted=False KindConflict');
      await world.controller.stop();
    }
  });

  it('accepts a refused name when the definition that had it takes another', async () => {
    const world = new Fixture();
    const names = { plural: 'cups', singular: 'cup', kind: 'Ring', listKind: 'CupList' };
    world.controller.start();
    world.put(definition('Ring'));
    await world.settle();
    const cup = definition('Cup');
    world.put({ ...cup, spec: { ...cup.spec, names } });
    await world.settle();
    assert.equal(world.conditions('cups.shop.io')[0], 'NamesAccepted=False KindConflict');
    const holder = world.find('rings.shop.io') ?? definition('Ring');
    world.put({ ...holder, spec: { ...holder.spec, names: { ...holder.spec.names, kind: 'Band' } } });
    await world.settle();
    assert.deepEqual(world.conditions('cups.shop.io'), established);
    await world.controller.stop();
  });

  it('writes nothing once it was stopped', async () => {
    const world = new Fixture();
    world.controller.start();
    await world.controller.stop();
    world.put(definition('Ring'));
    await world.settle();
    assert.deepEqual([world.writes, world.reader.listeners], [0, 0]);
  });

  it('tries a write again that met another, and gives up on what is gone', async () => {
    const world = new Fixture();
    world.api.fail('update', 'customresourcedefinitions', new ApiStatusError('Conflict', 'changed'));
    world.put(definition('Ring'));
    world.controller.start();
    await world.settle(1000);
    assert.deepEqual(world.conditions('rings.shop.io'), established);
    world.api.fail('update', 'customresourcedefinitions', new ApiStatusError('NotFound', 'gone'));
    const before = world.writes;
    world.put(definition('Cup'));
    await world.clock.advance(60_000);
    assert.equal(world.writes, before + 1);
    await world.controller.stop();
  });
});

describe('a definition that is deleted', () => {
  const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  const served: CustomResourceDefinition = {
    ...definition('Ring', deleted),
    status: {
      conditions: [{ type: 'Established', status: 'True', reason: 'R', message: '', lastTransitionTime: 'then' }],
      acceptedNames: { plural: 'rings', kind: 'Ring' },
      storedVersions: ['v1'],
    },
  };

  it('goes at once when it was never established', async () => {
    const world = new Fixture();
    world.put(definition('Ring', deleted));
    world.controller.start();
    await world.settle();
    assert.equal(world.find('rings.shop.io'), undefined);
    assert.equal(
      world.api.calls.some(({ verb, plural }) => verb === 'list' && plural === 'rings'),
      false,
    );
    await world.controller.stop();
  });

  it('is left alone when another has the last word', async () => {
    const world = new Fixture();
    world.put({ ...served, metadata: { ...served.metadata, finalizers: ['example.com/other'] } });
    world.controller.start();
    await world.settle();
    assert.equal(world.writes, 0);
    await world.controller.stop();
  });

  it('takes its objects with it, and keeps the finalizers of others', async () => {
    const world = new Fixture();
    for (let at = 0; at < 45; at++) world.api.seed(rings, ring(`r${at}`));
    world.put({ ...served, metadata: { ...served.metadata, finalizers: [CLEANUP_FINALIZER, 'example.com/other'] } });
    world.controller.start();
    await world.settle();
    assert.equal(world.api.all(rings).length, 0);
    assert.deepEqual(world.find('rings.shop.io')?.metadata.finalizers, ['example.com/other']);
    assert.equal(world.conditions('rings.shop.io').at(-1), 'Terminating=False InstanceDeletionCompleted');
    assert.equal(world.reader.listeners, 1);
    await world.controller.stop();
  });

  it('waits for objects with finalizers, and deletes each once', async () => {
    const world = new Fixture();
    world.api.seed(rings, ring('held', { finalizers: ['example.com/hold'] }));
    world.put(served);
    world.controller.start();
    await world.settle();
    assert.equal(world.conditions('rings.shop.io').at(-1), 'Terminating=True InstanceDeletionInProgress');
    assert.equal(world.reader.listeners, 2);
    await world.settle(6000);
    assert.equal(world.api.calls.filter(({ verb, plural }) => verb === 'delete' && plural === 'rings').length, 1);
    world.api.remove(rings, { namespace: 'n', name: 'held' });
    await world.settle(6000);
    assert.equal(world.find('rings.shop.io'), undefined);
    assert.equal(world.reader.listeners, 1);
    await world.controller.stop();
  });

  it('is checked again at once when its last object ends', async () => {
    const world = new Fixture();
    const held = ring('held', { finalizers: ['example.com/hold'], deletionTimestamp: '2026-01-01T00:00:00Z' });
    world.api.seed(rings, held);
    world.reader.put(rings, held);
    world.put(served);
    world.controller.start();
    await world.settle();
    world.api.remove(rings, { namespace: 'n', name: 'held' });
    world.reader.put(rings, { ...held });
    await world.settle();
    assert.notEqual(world.find('rings.shop.io'), undefined);
    world.reader.remove(rings, { namespace: 'n', name: 'held' });
    await world.settle();
    assert.equal(world.find('rings.shop.io'), undefined);
    await world.controller.stop();
  });
});
