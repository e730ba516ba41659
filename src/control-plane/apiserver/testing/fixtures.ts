import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { object as objectSchema } from '../../../api/schema/schema.ts';
import { fixedDefinitions } from '../../model/definitions.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Authenticator, Authorizer } from '../../model/user-info.ts';
import { createApiServer } from '../create-api-server.ts';
import type { ApiServer } from '../create-api-server.ts';
import type { ApiServerOptions } from '../options.ts';
import { FakeRegistry } from './fake-registry.ts';

const rules: ResourceDefinition['rules'] = {
  applyDefaults: (object) => object,
  validate: () => [],
  validateUpdate: () => [],
};

export function definition(
  kind: string,
  plural: string,
  rest: Partial<ResourceDefinition> & { readonly group?: string; readonly namespaced?: boolean } = {},
): ResourceDefinition {
  const { group = '', namespaced = true, ...given } = rest;
  return {
    type: { group, version: 'v1', kind, plural, namespaced },
    singular: kind.toLowerCase(),
    schema: objectSchema(kind, {}),
    storagePath: plural,
    rules,
    ...given,
  };
}

const read = ['get', 'create'] as const;

/** The kinds of the fixture, which together use every feature. */
const definitions: readonly ResourceDefinition[] = [
  definition('Pod', 'pods', {
    shortNames: ['po'],
    categories: ['all'],
    hasStatus: true,
    rules: { ...rules, returnsDeleted: true },
    columns: [
      {
        name: 'Name',
        type: 'string',
        format: 'name',
        description: 'Its name.',
        cell: (object) => object.metadata.name,
      },
      { name: 'Ready', type: 'string', description: 'How many containers are ready.', cell: () => '0/1' },
      { name: 'Node', type: 'string', description: 'Where it runs.', priority: 1, cell: () => '<none>' },
    ],
    actions: [
      {
        name: 'binding',
        kind: { group: '', version: 'v1', kind: 'Binding' },
        schema: objectSchema('Binding', {}),
        perform: () => Promise.resolve({}),
      },
    ],
    connects: [
      { name: 'log', verbs: ['get'], kind: 'Pod' },
      { name: 'exec', verbs: read, kind: 'PodExecOptions' },
      { name: 'attach', verbs: read, kind: 'PodAttachOptions' },
      { name: 'portforward', verbs: read, kind: 'PodPortForwardOptions' },
      { name: 'proxy', verbs: ['create', 'delete', 'get', 'patch', 'update'], kind: 'PodProxyOptions' },
    ],
  }),
  definition('ConfigMap', 'configmaps', { shortNames: ['cm'] }),
  definition('Secret', 'secrets', {}),
  definition('Namespace', 'namespaces', {
    namespaced: false,
    hasStatus: true,
    shortNames: ['ns'],
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  }),
  definition('Node', 'nodes', {
    namespaced: false,
    hasStatus: true,
    storagePath: 'minions',
    connects: [{ name: 'proxy', verbs: ['create', 'delete', 'get', 'patch', 'update'], kind: 'NodeProxyOptions' }],
  }),
  definition('Service', 'services', {
    connects: [{ name: 'proxy', verbs: ['create', 'delete', 'get', 'patch', 'update'], kind: 'ServiceProxyOptions' }],
  }),
  definition('Endpoints', 'endpoints', { deprecation: 'v1 Endpoints is old; use something else' }),
  definition('Deployment', 'deployments', {
    group: 'apps',
    hasStatus: true,
    categories: ['all'],
    shortNames: ['deploy'],
    views: [
      {
        name: 'scale',
        kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
        verbs: ['get', 'update', 'patch'],
        write: (current) => current,
        validate: () => [],
      },
    ],
  }),
  definition('TokenReview', 'tokenreviews', {
    group: 'authentication.k8s.io',
    namespaced: false,
    review: (object) => Promise.resolve(object),
  }),
];

/** Authenticates `Authorization: Bearer NAME` or `Bearer NAME/group,group` as user NAME. `Bearer wrong` fails. */
export const tokenIsName: Authenticator = {
  name: 'token-is-name',
  authenticate: async ({ authorization }) => {
    const token = /^Bearer (.+)$/.exec(authorization ?? '')?.[1];
    if (token === undefined) return Promise.resolve({ outcome: 'none' });
    const [name = '', groups = ''] = token.split('/');
    return Promise.resolve(
      name === 'wrong'
        ? { outcome: 'failed', error: 'wrong token' }
        : { outcome: 'user', user: { name, groups: groups === '' ? [] : groups.split(',') } },
    );
  },
};

/** Allows all users everything, except user `nobody`. */
const allButNobody: Authorizer = {
  name: 'all-but-nobody',
  authorize: ({ user }) =>
    user.name === 'nobody' ? { decision: 'noOpinion', reason: '' } : { decision: 'allow', reason: 'fake' },
};

export interface Fixture {
  readonly server: ApiServer;
  readonly registry: FakeRegistry;
  readonly clock: FakeClock;
}

const version = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0',
  gitCommit: 'abc',
  gitTreeState: 'clean',
  buildDate: '2026-01-01T00:00:00Z',
  platform: 'linux/amd64',
};

export function fixture(options: Partial<ApiServerOptions> = {}): Fixture {
  const registry = new FakeRegistry();
  const clock = new FakeClock();
  const server = createApiServer({
    registry,
    definitions: fixedDefinitions(definitions),
    authenticators: [tokenIsName],
    authorizer: allButNobody,
    version,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    ...options,
  });
  return { server, registry, clock };
}
