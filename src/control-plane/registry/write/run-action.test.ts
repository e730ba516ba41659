import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { RequestContext } from '../../model/request-context.ts';
import { withLateNews } from '../testing/late-news.ts';
import { startRegistry, widgets } from '../testing/registry-fixture.ts';
import type { RegistryFixture, Widget } from '../testing/registry-fixture.ts';

describe('a POST to a subresource with an action', () => {
  let fixture: RegistryFixture;
  let admitted: string[];
  const note = (step: string, { operation, subresource, name, object }: AdmissionAttributes): void =>
    void admitted.push(`${step} ${operation} ${subresource} ${name} ${String((object as Widget).spec.size)}`);
  const doubling: AdmissionPlugin = {
    name: 'doubling',
    handles: ({ subresource }) => subresource === 'fit',
    mutate: (attributes) => {
      note('mutate', attributes);
      const { spec, ...rest } = attributes.object as Widget;
      return Promise.resolve({ ...rest, spec: { ...spec, size: 2 * (spec.size ?? 0) } });
    },
    validate: (attributes) => Promise.resolve(note('validate', attributes)),
  };

  beforeEach(async () => {
    admitted = [];
    fixture = await startRegistry([doubling]);
    await fixture.create({ name: 'a', spec: { size: 1 } });
  });
  afterEach(() => fixture.stop());

  const fit = (
    name: string,
    value: object,
    context: Partial<RequestContext> = {},
    subresource = 'fit',
  ): Promise<unknown> =>
    fixture.registry.create(fixture.request(widgets, name, subresource, context), { value, duplicates: [] });
  const sizeOf = async (name: string): Promise<number | undefined> =>
    ((await fixture.registry.get(fixture.request(widgets, name), {})).object as Widget).spec.size;
  const refusal = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'done',
      (error: unknown) => (error instanceof ApiStatusError ? error.reason : Promise.reject(error as Error)),
    );

  it('uses the body after admission, which need not name the object', async () => {
    await fit('a', { spec: { size: 4 } });
    assert.deepEqual([await sizeOf('a'), admitted], [8, ['mutate CREATE fit a 4', 'validate CREATE fit a 8']]);
  });

  it('changes nothing in a dry run', async () => {
    await fit('a', { spec: { size: 4 } }, { dryRun: true });
    assert.equal(await sizeOf('a'), 1);
  });

  it('does not change an object with another UID or name than in the body', async () => {
    const refused = [
      await refusal(fit('none', { spec: {} })),
      await refusal(fit('a', { metadata: { name: 'b' }, spec: {} })),
      await refusal(fit('a', { metadata: { namespace: 'other' }, spec: {} })),
      await refusal(fit('a', { spec: { sice: 4 } })),
      await refusal(fit('a', { kind: 'Gadget', apiVersion: 'test.io/v1', spec: {} })),
      await refusal(fit('a', { spec: {} }, {}, 'unfit')),
    ];
    assert.deepEqual(
      [refused, await sizeOf('a')],
      [['NotFound', 'BadRequest', 'BadRequest', 'BadRequest', 'BadRequest', 'NotFound'], 1],
    );
  });
});

it('an action reads the newest object, even if another server has just written it', async () => {
  const [fit] = widgets.actions ?? [];
  assert.ok(fit);
  const kind: typeof widgets = { ...widgets, actions: [{ ...fit, perform: (access) => access.get() }] };
  const other = await startRegistry([], { kinds: [kind as unknown as ResourceDefinition], wrap: withLateNews });
  const fixture = await other.second();
  try {
    const size = async (): Promise<number | undefined> => {
      const request = other.request(kind, 'a', 'fit');
      const { object } = await other.registry.create(request, { value: { spec: {} }, duplicates: [] });
      return (object as Widget).spec.size;
    };
    await fixture.create({ name: 'a', spec: { size: 1 } }, kind);
    assert.equal(await size(), 1);
    const { object } = await fixture.registry.get(fixture.request(kind, 'a'), {});
    const value = { ...object, spec: { size: 2 } };
    await fixture.registry.update(fixture.request(kind, 'a'), { value, duplicates: [] });
    assert.equal(await size(), 2);
  } finally {
    await fixture.stop();
    await other.stop();
  }
});
