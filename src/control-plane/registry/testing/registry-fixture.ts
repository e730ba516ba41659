import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { ObjectMetaSchema } from '../../../api/core/meta.ts';
import { array, int32, map, object, required, string } from '../../../api/schema/schema.ts';
import { permissivePolicy } from '../../../api/validation/cluster-policy.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import type { AdmissionPlugin } from '../../model/admission.ts';
import type { RequestContext } from '../../model/request-context.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { AuthorizationAttributes, AuthorizationDecision } from '../../model/user-info.ts';
import { SqliteStorage } from '../../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../../storage/storage.ts';
import { createCacheReader } from '../cache/cache-reader.ts';
import { createRegistry } from '../create-registry.ts';
import { DefinitionIndex } from '../definition-index.ts';
import { WatchCache } from '../cache/watch-cache.ts';
import { Homes } from '../homes.ts';
import type { Registry, ResourceRequest } from '../registry.ts';

/** A kind for tests of behaviour that is the same for all kinds. */
export interface Widget extends ApiObject {
  readonly spec: { size?: number; parts?: { name: string; weight?: number }[]; notes?: Record<string, string> };
  readonly status?: { seen?: number };
}

const WidgetSchema = object('Widget', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(
    object('WidgetSpec', {
      size: int32,
      parts: array(object('Part', { name: required(string), weight: int32 }), ['name']),
      notes: map(string),
    }),
  ),
  status: object('WidgetStatus', { seen: int32 }),
});

function validateWidget({ spec }: Widget): FieldErrors['list'] {
  const errors = new FieldErrors();
  errors.nonNegative('spec.size', spec.size);
  return errors.list;
}

export const widgets: ResourceDefinition<Widget> = {
  type: { group: 'test.io', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true },
  singular: 'widget',
  schema: WidgetSchema,
  storagePath: 'widgets',
  hasStatus: true,
  countsGeneration: true,
  selectableFields: (widget) => ({ 'spec.size': String(widget.spec?.size ?? '') }),
  actions: [
    {
      name: 'fit',
      kind: { group: 'test.io', version: 'v1', kind: 'Widget' },
      schema: WidgetSchema,
      // The schema above has decoded the body.
      perform: (access, body) =>
        access.update((widget) => ({ ...widget, spec: { ...widget.spec, ...(body as Widget).spec } })),
    },
  ],
  rules: {
    applyDefaults: (widget) =>
      widget.spec.size === undefined ? { ...widget, spec: { ...widget.spec, size: 1 } } : widget,
    validate: validateWidget,
    validateUpdate: validateWidget,
  },
};

/** Whether each gadget write was stored, as reported to its allocation. */
export const gadgetsSettled: boolean[] = [];

/** A kind whose objects may stay after their deletion, and which has allocations. */
export const gadgets: ResourceDefinition<Widget> = {
  ...widgets,
  type: { group: 'test.io', version: 'v1', kind: 'Gadget', plural: 'gadgets', namespaced: false },
  singular: 'gadget',
  storagePath: 'gadgets',
  allocate: (object) =>
    Promise.resolve({ object, settle: (stored) => Promise.resolve(void gadgetsSettled.push(stored)) }),
  rules: {
    ...widgets.rules,
    allowCreateOnUpdate: true,
    gracePeriodSeconds: (_, asked) => asked ?? 30,
    propagationWarning: 'say what becomes of its parts',
  },
};

const notHere = (): Promise<never> => Promise.reject(new Error('not in this test'));

export interface RegistryFixture {
  readonly definitions: DefinitionIndex;
  readonly registry: Registry;
  readonly cache: WatchCache;
  readonly storage: Storage;
  readonly clock: FakeClock;
  readonly warnings: string[];
  request(
    definition: ResourceDefinition<Widget>,
    name?: string,
    subresource?: string,
    context?: Partial<RequestContext>,
  ): ResourceRequest;
  create(widget: Partial<Widget> & { name: string }, definition?: ResourceDefinition<Widget>): Promise<Widget>;
  /** Starts another server on the same store. `wrap` changes its view of the store. */
  second(wrap?: (storage: Storage) => Storage): Promise<RegistryFixture>;
  stop(): Promise<void>;
}

export interface FixtureOptions {
  /** Wraps the store of the registry. */
  readonly wrap?: (storage: Storage, clock: FakeClock) => Storage;
  /** Authorizes writes inside the registry. By default everything is allowed. */
  readonly authorize?: (attributes: AuthorizationAttributes) => AuthorizationDecision;
  /** The clock for sharing turns of the event loop. The default is the fake clock, which does not advance. */
  readonly workedMs?: () => number;
  /** Replaces the sharing of turns. */
  readonly pace?: { rest(): Promise<void> | undefined };
  /** The served kinds. The default is widgets and gadgets. */
  readonly kinds?: readonly ResourceDefinition[];
}

export async function startRegistry(
  admission: readonly AdmissionPlugin[] = [],
  { wrap = (storage) => storage, ...options }: FixtureOptions = {},
): Promise<RegistryFixture> {
  const folder = mkdtempSync(path.join(tmpdir(), 'registry-'));
  const clock = new FakeClock();
  const storage = new SqliteStorage({ file: path.join(folder, 'state.db'), clock, log: recordingLog() });
  const fixture = await onStorage(wrap(storage, clock), clock, admission, options);
  return {
    ...fixture,
    // The second server has its own connection to the store.
    second: (seen = (each) => each) => onStorage(seen(storage), clock, admission, options),
    stop: async () => {
      fixture.cache.stop();
      await storage.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The registry passes a definition's functions only objects of its own schema. */
export const plainKinds = [widgets, gadgets] as unknown as readonly ResourceDefinition[];

/** Starts a server on a store. */
async function onStorage(
  storage: Storage,
  clock: FakeClock,
  admission: readonly AdmissionPlugin[],
  { authorize = () => ({ decision: 'allow', reason: '' }), workedMs, pace, kinds = plainKinds }: FixtureOptions,
): Promise<RegistryFixture> {
  const definitions = new DefinitionIndex(kinds);
  const cache = new WatchCache({ storage, definitions, clock, log: recordingLog() });
  await cache.start();
  const homes = new Homes(definitions, { cache, storage });
  const registry = createRegistry({
    homes,
    reader: createCacheReader(homes, definitions),
    storage,
    definitions,
    clock,
    ...(workedMs !== undefined && { workedMs }),
    ...(pace !== undefined && { pace }),
    random: seededRandom(1),
    policy: permissivePolicy,
    allocationSettings: { serviceCidrs: [], nodePorts: { first: 30000, last: 32767 } },
    allocationClient: () => new FakeApiClient({ clock }),
    admission,
    services: { apiAudiences: [], signServiceAccountToken: notHere },
    reviewAccess: ({ user }) => ({
      user,
      authorize: (attributes) => Promise.resolve(authorize(attributes)),
      rulesFor: notHere,
      authenticateToken: notHere,
    }),
  });
  const warnings: string[] = [];
  const request: RegistryFixture['request'] = (definition, name = '', subresource = '', context = {}) => ({
    definition: definition as unknown as ResourceDefinition,
    namespace: definition.type.namespaced ? 'default' : '',
    name,
    subresource,
    context: {
      user: { name: 'tester', groups: [] },
      dryRun: false,
      fieldManager: 'test',
      fieldValidation: 'Strict',
      warn: (text) => warnings.push(text),
      annotate: () => undefined,
      ...context,
    },
  });
  return {
    definitions,
    registry,
    cache,
    storage,
    clock,
    warnings,
    request,
    create: async ({ name, ...rest }, definition = widgets) =>
      (await registry.create(request(definition), { value: { metadata: { name }, spec: {}, ...rest }, duplicates: [] }))
        .object as Widget,
    second: (seen = (each) => each) => onStorage(seen(storage), clock, admission, { authorize, kinds }),
    stop: () => Promise.resolve(cache.stop()),
  };
}
