// These properties hold for any security context: an empty, null or invalid field is rejected or changes nothing, and a
// restriction never removes another one.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../../../api/core/pod.ts';
import { PodSchema } from '../../../../api/core/pod.ts';
import { defaultPod } from '../../../../api/defaults/default-pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { allContainers } from '../../../../api/pod.ts';
import { decode } from '../../../../api/schema/decode.ts';
import { formatFieldError } from '../../../../api/validation/field-error.ts';
import { permissivePolicy } from '../../../../api/validation/cluster-policy.ts';
import { validatePod } from '../../../../api/validation/pod/validate-pod.ts';
import type { SecurityFacts } from './security-config.ts';
import { containerSecurity, sandboxSecurity } from './security-config.ts';
import { testNode, testSettings } from '../testing/harness.ts';

type Json = Readonly<Record<string, unknown>>;
type Security = ReturnType<typeof containerSecurity>;

interface Case {
  readonly ofPod: Json;
  readonly ofContainer: Json;
  readonly spec: Json;
}

const images: readonly SecurityFacts['imageUser'][] = [
  { username: '' },
  { uid: 0, username: '' },
  { uid: 1000, username: '' },
  { username: 'www' },
];
const userns = { mode: 'pod', hostId: 65_536, length: 65_536 } as const;

function manifest({ ofPod, ofContainer, spec }: Case, kind = 'containers'): Json {
  const app = { name: 'app', image: 'app:1', securityContext: ofContainer };
  const containers =
    kind === 'containers' ? { containers: [app] } : { containers: [{ name: 'main', image: 'main:1' }], [kind]: [app] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: { ...spec, securityContext: ofPod, ...containers },
  };
}

/** Parses the pod from a manifest, or returns why it is rejected. */
function accept(content: Json): { pod: Pod; complaints: string[] } {
  const { value, errors } = decode(PodSchema, content);
  if (errors.length > 0) return { pod: value, complaints: errors.map(({ message }) => message) };
  const pod = defaultPod(value);
  return { pod, complaints: validatePod(pod, permissivePolicy).map(formatFieldError) };
}

function ask(given: Case, image: SecurityFacts['imageUser'], seccompDefault = false): Security | undefined {
  const { pod, complaints } = accept(manifest(given));
  const [container] = pod.spec?.containers ?? [];
  if (complaints.length > 0 || container === undefined) return undefined;
  try {
    sandboxSecurity(pod, { userns });
    return containerSecurity(pod, container, {
      settings: { ...testSettings, seccompDefault },
      node: testNode,
      placement: { userns },
      imageUser: image,
    });
  } catch {
    return undefined;
  }
}

const someCapabilities = ['CHOWN', 'NET_RAW', 'SYS_ADMIN', 'ALL'];

/** Returns the rights that a container has. */
function powers(security: Security): string[] {
  const { capabilities = { add: [], drop: [] }, namespaces } = security;
  const upper = (names: readonly string[]): string[] => names.map((name) => name.toUpperCase());
  const kept = someCapabilities.filter(
    (name) => !upper(capabilities.drop).includes(name) && !upper(capabilities.drop).includes('ALL'),
  );
  const held: readonly [string, boolean][] = [
    ['privileged', security.privileged],
    ['is root', security.runAsUser === 0],
    ['writes to its root', !security.readOnlyRootFilesystem],
    ['gains privileges', !security.noNewPrivs],
    ['no seccomp', security.seccomp === undefined || security.seccomp.type === 'Unconfined'],
    ['no AppArmor', security.apparmor?.type === 'Unconfined'],
    ['sees all of /proc', security.maskedPaths.length === 0],
    ['writes to /proc', security.readonlyPaths.length === 0],
    ["the host's network", namespaces.network === 'node'],
    ["the host's processes", namespaces.pid === 'node'],
    ["the host's IPC", namespaces.ipc === 'node'],
    ["the host's users", namespaces.userns?.mode !== 'pod'],
    ['all groups of the image', security.supplementalGroupsPolicy !== 'Strict'],
  ];
  return [
    ...held.filter(([, is]) => is).map(([name]) => name),
    ...capabilities.add.filter((name) => name !== '').map((name) => `has ${name}`),
    ...kept.map((name) => `keeps ${name}`),
    ...security.supplementalGroups.map((group) => `in group ${group}`),
  ];
}

/**
 * Asserts that the settings are at least as strict as before. Returns whether there was anything to compare: a rejected
 * pod has no rights.
 */
function assertNoWeaker(now: Security | undefined, before: Security | undefined, what: unknown): boolean {
  if (now === undefined || before === undefined) return false;
  const gained = powers(now).filter((power) => !powers(before).includes(power));
  assert.deepEqual(gained, [], JSON.stringify(what));
  return true;
}

const profile = fc.oneof(
  fc.record({ type: fc.constantFrom('RuntimeDefault', 'Unconfined') }),
  fc.record({ type: fc.constant('Localhost'), localhostProfile: fc.constantFrom('a.json', 'b/c') }),
);
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined, freq: 2 });
const ofBoth = {
  runAsUser: maybe(fc.constantFrom(0, 7, 1000)),
  runAsGroup: maybe(fc.constantFrom(0, 7)),
  runAsNonRoot: maybe(fc.boolean()),
  seccompProfile: maybe(profile),
  appArmorProfile: maybe(profile),
};
const validCase: fc.Arbitrary<Case> = fc.record({
  ofPod: fc.record({
    ...ofBoth,
    fsGroup: maybe(fc.constantFrom(0, 3)),
    supplementalGroups: maybe(fc.subarray([0, 4, 5])),
    supplementalGroupsPolicy: maybe(fc.constantFrom('Merge', 'Strict')),
  }),
  ofContainer: fc.record({
    ...ofBoth,
    privileged: maybe(fc.boolean()),
    allowPrivilegeEscalation: maybe(fc.boolean()),
    readOnlyRootFilesystem: maybe(fc.boolean()),
    procMount: maybe(fc.constantFrom('Default', 'Unmasked')),
    capabilities: maybe(
      fc.record({ add: maybe(fc.subarray(someCapabilities)), drop: maybe(fc.subarray(someCapabilities)) }),
    ),
  }),
  spec: fc.record({
    hostUsers: maybe(fc.boolean()),
    hostPID: maybe(fc.boolean()),
    hostIPC: maybe(fc.boolean()),
    hostNetwork: maybe(fc.boolean()),
    shareProcessNamespace: maybe(fc.boolean()),
  }),
});

/** Generates values that are invalid for every field. */
const junk = fc.constantFrom<unknown[]>(
  null,
  '',
  ' ',
  [],
  {},
  [null],
  [''],
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  'true',
  'yes',
  'unconfined',
  'Unconfined ',
  'unmasked',
  'merge',
  '0',
  'root',
  { type: '' },
  { type: null },
  { type: 'unconfined' },
  { type: 'Localhost' },
  { type: 'Localhost', localhostProfile: '' },
  { type: 'Localhost', localhostProfile: '../x' },
  { type: 'Localhost', localhostProfile: '/x' },
  { type: 'RuntimeDefault', localhostProfile: 'x' },
  { type: 'Localhost', localhostProfile: null },
  { add: null, drop: null },
  { add: [null] },
  { drop: [''] },
  { add: '' },
);
const fields: readonly [keyof Case, string][] = [
  ...[
    'runAsUser',
    'runAsGroup',
    'runAsNonRoot',
    'seccompProfile',
    'appArmorProfile',
    'fsGroup',
    'supplementalGroups',
    'supplementalGroupsPolicy',
    'seLinuxOptions',
    'sysctls',
  ].map((name) => ['ofPod', name] as [keyof Case, string]),
  ...[
    'runAsUser',
    'runAsGroup',
    'runAsNonRoot',
    'seccompProfile',
    'appArmorProfile',
    'privileged',
    'allowPrivilegeEscalation',
    'readOnlyRootFilesystem',
    'procMount',
    'capabilities',
    'seLinuxOptions',
  ].map((name) => ['ofContainer', name] as [keyof Case, string]),
  ...['hostUsers', 'hostPID', 'hostIPC', 'hostNetwork', 'shareProcessNamespace', 'securityContext'].map(
    (name) => ['spec', name] as [keyof Case, string],
  ),
];

function put(given: Case, [part, name]: [keyof Case, string], value: unknown): Case {
  return { ...given, [part]: { ...given[part], [name]: value } };
}

describe('security contexts', () => {
  test('a field that is empty, null or invalid is refused, or leaves the container no stronger than without it', () => {
    let compared = 0;
    fc.assert(
      fc.property(
        validCase,
        fc.constantFrom(...fields),
        junk,
        fc.constantFrom(...images),
        fc.boolean(),
        (given, field, value, image, seccompDefault) => {
          compared += Number(
            assertNoWeaker(
              ask(put(given, field, value), image, seccompDefault),
              ask(put(given, field, undefined), image, seccompDefault),
              { given, field, value },
            ),
          );
        },
      ),
      { numRuns: 3000 },
    );
    assert.ok(compared > 60, `only ${compared} pods were let through`);
  });

  test('an additional restriction never removes another', () => {
    const restriction: fc.Arbitrary<[keyof Case, string, unknown]> = fc.constantFrom<[keyof Case, string, unknown][]>(
      ['ofPod', 'runAsNonRoot', true],
      ['ofPod', 'seccompProfile', { type: 'RuntimeDefault' }],
      ['ofPod', 'seccompProfile', { type: 'Localhost', localhostProfile: 'x.json' }],
      ['ofPod', 'appArmorProfile', { type: 'RuntimeDefault' }],
      ['ofPod', 'supplementalGroupsPolicy', 'Strict'],
      ['ofPod', 'runAsUser', 1000],
      ['ofContainer', 'runAsUser', 1000],
      ['ofContainer', 'runAsNonRoot', true],
      ['ofContainer', 'seccompProfile', { type: 'RuntimeDefault' }],
      ['ofContainer', 'appArmorProfile', { type: 'Localhost', localhostProfile: 'p' }],
      ['ofContainer', 'privileged', false],
      ['ofContainer', 'allowPrivilegeEscalation', false],
      ['ofContainer', 'readOnlyRootFilesystem', true],
      ['ofContainer', 'procMount', 'Default'],
      ['ofContainer', 'capabilities', { drop: ['ALL'] }],
      ['spec', 'hostUsers', false],
      ['spec', 'hostPID', false],
      ['spec', 'hostIPC', false],
      ['spec', 'hostNetwork', false],
      ['spec', 'shareProcessNamespace', false],
    );
    let compared = 0;
    fc.assert(
      fc.property(validCase, restriction, fc.constantFrom(...images), (given, [part, name, value], image) => {
        compared += Number(
          assertNoWeaker(ask(put(given, [part, name], value), image), ask(given, image), { given, part, name, value }),
        );
      }),
      { numRuns: 3000 },
    );
    assert.ok(compared > 200, `only ${compared} pods were let through`);
  });

  test('apply to every kind of container: none is skipped by the rules or in the request to the runtime', () => {
    const anything = fc.tuple(validCase, fc.constantFrom(...fields), fc.option(junk, { nil: undefined }));
    fc.assert(
      fc.property(anything, fc.constantFrom(...images), ([given, field, value], image) => {
        const wild = value === undefined ? given : put(given, field, value);
        const verdicts = ['containers', 'initContainers', 'ephemeralContainers'].map((kind) => {
          const { pod, complaints } = accept(manifest(wild, kind));
          const refused = complaints
            .filter((complaint) => complaint.includes('securityContext'))
            .map((complaint) => complaint.replace(/spec\.\w+\[0\]/, 'spec.KIND[0]').replaceAll(kind, 'KIND'));
          if (refused.length > 0) return { refused: refused.sort() };
          const app = [...allContainers(pod)].find(({ container }) => container.name === 'app')?.container;
          return app === undefined ? {} : { got: outcome(pod, app, image) };
        });
        assert.deepEqual(verdicts[1], verdicts[0]);
        assert.deepEqual(verdicts[2], verdicts[0]);
      }),
      { numRuns: 1000 },
    );
  });
});

function outcome(pod: Pod, container: AnyContainer, imageUser: SecurityFacts['imageUser']): unknown {
  try {
    return containerSecurity(pod, container, {
      settings: testSettings,
      node: testNode,
      placement: { userns },
      imageUser,
    });
  } catch (error) {
    return String(error);
  }
}
