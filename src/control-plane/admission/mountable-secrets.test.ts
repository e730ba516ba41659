import assert from 'node:assert/strict';
import test from 'node:test';
import type { ServiceAccount } from '../../api/core/service-account.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { Changes } from '../../api/testing/pod-builder.ts';
import { checkMountableSecrets, enforcesMountableSecrets, usesTokenProjection } from './mountable-secrets.ts';

const account: ServiceAccount = {
  metadata: { name: 'robot', namespace: 'default', uid: '' },
  secrets: [{ name: 'mine' }],
  imagePullSecrets: [{ name: 'registry' }],
};
const bare: ServiceAccount = { metadata: account.metadata };
const problem = (changes: Changes, part: 'pod' | 'ephemeral' = 'pod', of = account): string | undefined =>
  checkMountableSecrets(of, buildPod(changes), part);
const container = (more: object): object[] => [{ name: 'c', image: 'x', ...more }];
const env = (name: string): object[] =>
  container({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'k' } } }] });
const envFrom = (name: string): object[] =>
  container({ envFrom: [{ configMapRef: { name: 'm' } }, { secretRef: { name } }] });
const volume = (secretName: string): object[] => [
  { name: 'e', emptyDir: {} },
  { name: 's', secret: { secretName } },
];

test('a pod uses only secrets that its account lists, in volumes, variables and pulls', () => {
  const foreign = 'is not allowed because service account robot does not reference that secret';
  const referencing = `referencing secret.secretName="other" ${foreign}`;
  const rows: [changes: Changes, problem: string][] = [
    [{ 'spec.volumes': volume('other') }, `volume with secret.secretName="other" ${foreign}`],
    [{ 'spec.containers': env('other') }, `container c with envVar A ${referencing}`],
    [{ 'spec.containers': envFrom('other') }, `container c with envFrom ${referencing}`],
    [{ 'spec.initContainers': env('other') }, `init container c with envVar A ${referencing}`],
    [{ 'spec.initContainers': envFrom('other') }, `init container c with envFrom ${referencing}`],
    [
      { 'spec.imagePullSecrets': [{ name: 'registry' }, { name: 'mine' }] },
      'imagePullSecrets[1].name="mine" is not allowed because service account robot does not reference that imagePullSecret',
    ],
  ];
  assert.deepEqual(
    rows.map(([changes]) => problem(changes)),
    rows.map(([, expected]) => expected),
  );
  const listed: Changes[] = [
    { 'spec.volumes': volume('mine') },
    { 'spec.containers': env('mine') },
    { 'spec.containers': envFrom('mine') },
    { 'spec.containers': container({ env: [{ name: 'A', value: 'other' }] }) },
    { 'spec.imagePullSecrets': [{ name: 'registry' }] },
    {},
  ];
  assert.deepEqual(
    listed.map((changes) => problem(changes)),
    listed.map(() => undefined),
  );
});

test('only the ephemeral containers are judged when they are added, and not before', () => {
  const added = { 'spec.ephemeralContainers': envFrom('other') };
  const refused =
    'ephemeral container c with envFrom referencing secret.secretName="other" is not allowed because service account robot does not reference that secret';
  assert.deepEqual(
    [
      problem(added, 'ephemeral'),
      problem(added),
      problem({ 'spec.volumes': volume('other') }, 'ephemeral'),
      problem({ 'spec.ephemeralContainers': env('mine') }, 'ephemeral'),
    ],
    [refused, undefined, undefined, undefined],
  );
});

test('an account that lists nothing allows pods without secrets', () => {
  assert.deepEqual(
    [
      problem({}, 'pod', bare),
      problem({}, 'ephemeral', bare),
      problem({ 'spec.volumes': volume('mine') }, 'pod', bare) !== undefined,
      problem({ 'spec.imagePullSecrets': [{ name: 'registry' }] }, 'pod', bare) !== undefined,
    ],
    [undefined, undefined, true, true],
  );
});

test('an account enforces its list when its annotation is true for Go', () => {
  const enforces = (value?: string): boolean =>
    enforcesMountableSecrets({
      metadata: {
        ...account.metadata,
        ...(value !== undefined && { annotations: { 'kubernetes.io/enforce-mountable-secrets': value } }),
      },
    });
  assert.deepEqual(['true', 'True', 'TRUE', 't', 'T', '1', 'yes', 'tRUE', '', undefined].map(enforces), [
    true,
    true,
    true,
    true,
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('a token projection is found among the sources of any projected volume', () => {
  const uses = (volumes: object[] | undefined): boolean => usesTokenProjection(buildPod({ 'spec.volumes': volumes }));
  const projected = (...sources: object[]): object => ({ name: 'p', projected: { sources } });
  assert.deepEqual(
    [
      uses(undefined),
      uses([
        { name: 'e', emptyDir: {} },
        { name: 'p', projected: {} },
      ]),
      uses([projected({ secret: { name: 's' } })]),
      uses([
        projected({ secret: { name: 's' } }),
        projected({ secret: { name: 's' } }, { serviceAccountToken: { path: 't' } }),
      ]),
    ],
    [false, false, false, true],
  );
});
