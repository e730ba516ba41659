// Objects that pend, from their creation to what readers see of them.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { initializersOf, withInitializers } from '../../../api/core/initializers.ts';
import type { Initializers } from '../../../api/core/initializers.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { formatFieldPath } from '../../../api/schema/field-path.ts';
import { decodeAny } from '../../../api/schema/decode.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { AdmissionPlugin } from '../../model/admission.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { ServedList, WatchSink } from '../../registry/registry.ts';
import { plainKinds, startRegistry } from '../../registry/testing/registry-fixture.ts';
import type { RegistryFixture, Widget } from '../../registry/testing/registry-fixture.ts';
import { allResources } from '../../resources/all.ts';
import { initializedKinds } from '../../resources/initialized-kinds.ts';
import { hasInitializers } from './served-kinds.ts';

const pending: Initializers = { pending: [{ name: 'one.example.com' }, { name: 'two.example.com' }] };
const allPend: AdmissionPlugin = {
  name: 'Initializers',
  handles: ({ operation }) => operation === 'CREATE',
  mutate: ({ object }) => having(object as ApiObject, pending),
};
const having = <T extends ApiObject>(object: T, value: Initializers | undefined): T => ({
  ...object,
  metadata: withInitializers(object.metadata, value),
});
const kinds = initializedKinds(plainKinds);
const widgets = kinds[0] as unknown as ResourceDefinition<Widget>;
const names = ({ items }: ServedList): readonly string[] => items.map(({ object }) => object.metadata.name);

describe('a pending object', () => {
  let fixture: RegistryFixture;
  beforeEach(async () => {
    fixture = await startRegistry([allPend], { kinds });
  });
  afterEach(() => fixture.stop());

  const find = async (name: string): Promise<Widget> =>
    (await fixture.registry.get(fixture.request(widgets, name), {})).object as Widget;
  const write = async (object: Widget): Promise<void> => {
    await fixture.registry.update(fixture.request(widgets, object.metadata.name), { value: object, duplicates: [] });
  };
  const createPending = (name: string): Promise<unknown> =>
    fixture.registry.create(fixture.request(widgets, '', '', { takesUninitialized: true }), {
      value: { metadata: { name }, spec: {} },
      duplicates: [],
    });

  /** Begins a creation that waits. Resolves when it does. */
  const beginCreation = async (): Promise<{ readonly answer: Promise<Widget> }> => {
    const { listeners } = fixture.cache.kind(widgets as unknown as ResourceDefinition);
    const answer = fixture.create({ name: 'a' }, widgets);
    answer.catch(() => undefined);
    await new Promise<void>((resolve) => {
      const stored = (): void => {
        listeners.delete(stored);
        resolve();
      };
      listeners.add(stored);
    });
    await fixture.clock.settle();
    return { answer };
  };

  it('is not listed, unless that is asked for; by its name it is found', async () => {
    await createPending('a');
    const list = (includeUninitialized: boolean, labelSelector = ''): Promise<ServedList> =>
      fixture.registry.list(fixture.request(widgets), { includeUninitialized, labelSelector });
    assert.deepEqual(names(await list(false)), []);
    assert.deepEqual(names(await list(false, '!x')), []);
    assert.deepEqual(names(await list(true)), ['a']);
    assert.deepEqual(names(await list(true, '!x')), ['a']);
    assert.deepEqual(initializersOf((await find('a')).metadata), pending);
  });

  it('is added to a watch once it is initialized', async () => {
    const events: string[] = [];
    const sink: WatchSink = {
      event: (type, { object }) => events.push(`${type} ${object.metadata.name}`),
      bookmark: () => undefined,
      end: () => undefined,
    };
    const watch = await fixture.registry.watch(fixture.request(widgets), {}, sink);
    await createPending('a');
    const first = await find('a');
    await write(having(first, { pending: [{ name: 'two.example.com' }] }));
    assert.deepEqual(events, []);
    await write(having(await find('a'), undefined));
    assert.deepEqual(events, ['ADDED a']);
    watch.close();
  });

  it('is what its creator gets when the last initializer is done', async () => {
    const { answer } = await beginCreation();
    const object = await find('a');
    await write({ ...having(object, undefined), spec: { size: 7 } });
    assert.equal((await answer).spec.size, 7);
  });

  it('goes when an initializer refuses it, and its creator reads why', async () => {
    const { answer } = await beginCreation();
    const refused = assert.rejects(
      answer,
      (error) => isApiError(error, 'Forbidden') && error.message === 'the secret is too short',
    );
    const result = { status: 'Failure', reason: 'Forbidden', code: 403, message: 'the secret is too short' };
    await write(having(await find('a'), { ...pending, result }));
    await refused;
    await assert.rejects(find('a'), (error) => isApiError(error, 'NotFound'));
  });

  it('that is deleted meanwhile ends the wait', async () => {
    const { answer } = await beginCreation();
    await fixture.registry.delete(fixture.request(widgets, 'a'), {});
    await assert.rejects(answer, /object deleted while waiting for initialization/);
  });

  it('is waited for as long as a request takes, and stays', async () => {
    const { answer } = await beginCreation();
    const refused = assert.rejects(
      answer,
      (error) => isApiError(error, 'Timeout') && error.message.includes('waiting for the initialization of widgets a'),
    );
    const { listeners } = fixture.cache.kind(widgets as unknown as ResourceDefinition);
    const waiting = listeners.size;
    await fixture.clock.advance(30_000);
    await refused;
    assert.equal(listeners.size, waiting - 1);
    assert.deepEqual(initializersOf((await find('a')).metadata), pending);
  });

  it('goes with a deletion of its collection', async () => {
    await createPending('a');
    await fixture.registry.deleteCollection(fixture.request(widgets), {}, {});
    await assert.rejects(find('a'), (error) => isApiError(error, 'NotFound'));
  });

  it('is checked as any other, and once it is initialized the field is closed', async () => {
    await createPending('a');
    const object = await find('a');
    await assert.rejects(write(having(object, { pending: [{ name: 'x' }] })), /three segments/);
    await write(having(object, undefined));
    await assert.rejects(write(having(await find('a'), pending)), /immutable once initialization has completed/);
  });
});

describe('a server without initializers', () => {
  const pods = allResources.find(({ type }) => type.kind === 'Pod');
  const body = { metadata: { name: 'a', initializers: { pending: [] } }, spec: { containers: [] } };
  it('does not know the field; one with them does', () => {
    assert.ok(pods !== undefined);
    const unknown = (definition: ResourceDefinition | undefined): readonly string[] =>
      definition === undefined
        ? []
        : decodeAny(definition.schema, body, { mode: 'strict' }).errors.map(({ path }) => formatFieldPath(path));
    assert.deepEqual(unknown(pods), ['metadata.initializers']);
    assert.deepEqual(unknown(initializedKinds([pods])[0]), []);
  });

  it('says what the plugin needs', () => {
    const api = (served: [string, boolean][]) => ({ gates: new Set<never>(), served: new Map(served) });
    const on = api([['admissionregistration.k8s.io/v1alpha1', true]]);
    assert.equal(hasInitializers({ api: on, enabledAdmission: [] }), false);
    assert.equal(hasInitializers({ api: on, enabledAdmission: ['Initializers'] }), true);
    assert.equal(hasInitializers({ api: api([['api/alpha', true]]), enabledAdmission: ['Initializers'] }), true);
    assert.throws(
      () => hasInitializers({ api: api([]), enabledAdmission: ['Initializers'] }),
      /add --runtime-config=admissionregistration.k8s.io\/v1alpha1=true/,
    );
  });
});
