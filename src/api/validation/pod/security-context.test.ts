import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../testing/pod-builder.ts';
import type { Changes } from '../../testing/pod-builder.ts';
import { permissivePolicy } from '../cluster-policy.ts';
import { FieldErrors, formatFieldError } from '../field-error.ts';
import type { OldFault } from './pod-validation-context.ts';
import {
  hasHostSysctl,
  matchProfileAnnotations,
  validatePodSecurityContext,
  validateProfileTexts,
  validateSecurityContext,
} from './security-context.ts';

const texts = (check: (errors: FieldErrors) => void): string[] => {
  const errors = new FieldErrors();
  check(errors);
  return errors.list.map(formatFieldError);
};
const faultsOf = (context: object, { ownUsers = false, allowPrivileged = true } = {}): string[] =>
  texts((errors) => validateSecurityContext(errors, 'c', context, { ownUsers, policy: { allowPrivileged } }));
const faultsOfPod = (changes: Changes, before: OldFault[] = []): string[] => {
  const context = {
    subject: 'pod',
    policy: permissivePolicy,
    hadBefore: (fault: OldFault) => before.includes(fault),
  } as const;
  return texts((errors) => validatePodSecurityContext(errors, 'p', buildPod(changes).spec, context));
};
const id = 'must be between 0 and 2147483647, inclusive';
const kinds = 'supported values: "Localhost", "RuntimeDefault", "Unconfined"';

test('ids, policies and a process namespace that is the node’s are judged in the context of a pod', () => {
  assert.deepEqual(
    [
      faultsOfPod({
        'spec.securityContext': { fsGroup: -1, runAsUser: -1, runAsGroup: -1, supplementalGroups: [0, -1] },
      }),
      faultsOfPod({ 'spec.securityContext': { fsGroup: 0, runAsUser: 0, runAsGroup: 0, supplementalGroups: [0] } }),
      faultsOfPod({
        'spec.securityContext': { fsGroupChangePolicy: 'OnRootMismatch', supplementalGroupsPolicy: 'Strict' },
      }),
      faultsOfPod({ 'spec.shareProcessNamespace': true }),
      faultsOfPod({ 'spec.hostPID': true }),
      faultsOfPod({ 'spec.securityContext': { seLinuxChangePolicy: 'MountOption' } }),
      faultsOfPod({ 'spec.securityContext': { seLinuxChangePolicy: 'MountOption' } }, ['seLinuxChangePolicy']),
      faultsOfPod({ 'spec.securityContext': { seLinuxChangePolicy: 'Recursive' } }),
      faultsOfPod({ 'spec.securityContext': { appArmorProfile: { type: '' }, seccompProfile: { type: '' } } }),
    ],
    [
      [
        `p.fsGroup: Invalid value: -1: ${id}`,
        `p.runAsUser: Invalid value: -1: ${id}`,
        `p.runAsGroup: Invalid value: -1: ${id}`,
        `p.supplementalGroups[1]: Invalid value: -1: ${id}`,
      ],
      [],
      [],
      [],
      [],
      ['p.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"'],
      [],
      [],
      [
        'p.seccompProfile.type: Required value: type is required when seccompProfile is set',
        'p.appArmorProfile.type: Required value: type is required when appArmorProfile is set',
      ],
    ],
  );
});

test('sysctls of namespaces that a pod shares with the node are refused, unless the pod had one before', () => {
  const shared = (name: string, more: Changes, before: OldFault[] = []): string[] =>
    faultsOfPod({ 'spec.securityContext': { sysctls: [{ name, value: '1' }] }, ...more }, before);
  const refused = (name: string, field: string): string[] => [
    `p.sysctls[0].name: Invalid value: "${name}": may not be specified when '${field}' is true`,
  ];
  assert.deepEqual(
    [
      shared('net.core.somaxconn', { 'spec.hostNetwork': true }),
      shared('net.core.somaxconn', { 'spec.hostNetwork': true }, ['hostSysctl']),
      shared('net.core.somaxconn', { 'spec.hostIPC': true }),
      shared('kernel.msgmax', { 'spec.hostIPC': true }),
      shared('kernel.msgmax', { 'spec.hostNetwork': true }),
      shared('a'.repeat(253), {}),
      shared('a'.repeat(254), {}).length,
    ],
    [refused('net.core.somaxconn', 'hostNetwork'), [], [], refused('kernel.msgmax', 'hostIPC'), [], [], 1],
  );
  const has = (more: Changes, ...names: string[]): boolean =>
    hasHostSysctl(
      buildPod({ 'spec.securityContext': { sysctls: names.map((name) => ({ name, value: '1' })) }, ...more }).spec,
    );
  assert.deepEqual(
    [has({}), has({ 'spec.hostIPC': true }, 'a', 'kernel.msgmax'), has({ 'spec.hostIPC': true }, 'a')],
    [false, true, false],
  );
  assert.equal(hasHostSysctl(buildPod({ 'spec.securityContext': undefined }).spec), false);
});

test('a container is privileged only where the cluster allows it, and never while it may not gain privileges', () => {
  const form = (changes: object): string =>
    JSON.stringify({
      Capabilities: null,
      Privileged: null,
      SELinuxOptions: null,
      WindowsOptions: null,
      RunAsUser: null,
      RunAsGroup: null,
      RunAsNonRoot: null,
      ReadOnlyRootFilesystem: null,
      AllowPrivilegeEscalation: false,
      ProcMount: null,
      SeccompProfile: null,
      AppArmorProfile: null,
      ...changes,
    });
  const locked = (more: object): string[] => faultsOf({ allowPrivilegeEscalation: false, ...more });
  assert.deepEqual(
    [
      faultsOf({ privileged: true }),
      faultsOf({ privileged: true }, { allowPrivileged: false }),
      faultsOf({ privileged: false }, { allowPrivileged: false }),
      faultsOf({ privileged: true, allowPrivilegeEscalation: true, capabilities: { add: ['CAP_SYS_ADMIN'] } }),
      locked({ privileged: true }),
      locked({ privileged: false, capabilities: { add: ['SYS_ADMIN'], drop: ['CAP_SYS_ADMIN'] } }),
      locked({ capabilities: { drop: ['ALL'] } }),
      locked({ capabilities: { add: ['NET_ADMIN', 'CAP_SYS_ADMIN'] } }),
      faultsOf({ runAsUser: -1, runAsGroup: -1 }),
      faultsOf({ runAsUser: 0, runAsGroup: 0 }),
      faultsOf({ procMount: 'Unmasked' }, { ownUsers: true }),
      faultsOf({ procMount: 'Default' }),
      texts((errors) => validateSecurityContext(errors, 'c', undefined, { ownUsers: false, policy: permissivePolicy })),
    ],
    [
      [],
      ['c.privileged: Forbidden: disallowed by cluster policy'],
      [],
      [],
      [
        `c: Invalid value: ${form({ Privileged: true })}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`,
      ],
      [],
      [],
      [
        `c: Invalid value: ${form({ Capabilities: { Add: ['NET_ADMIN', 'CAP_SYS_ADMIN'], Drop: null } })}: cannot set \`allowPrivilegeEscalation\` to false and \`capabilities.Add\` CAP_SYS_ADMIN`,
      ],
      [`c.runAsUser: Invalid value: -1: ${id}`, `c.runAsGroup: Invalid value: -1: ${id}`],
      [],
      [],
      [],
      [],
    ],
  );
});

test('a profile of the node has a name, and the others have none', () => {
  const seccomp = (seccompProfile: object): string[] => faultsOf({ seccompProfile });
  const appArmor = (appArmorProfile: object): string[] => faultsOf({ appArmorProfile });
  const long = 'x'.repeat(4096);
  assert.deepEqual(
    [
      seccomp({ type: 'Localhost', localhostProfile: 'a/b.json' }),
      seccomp({ type: 'Localhost', localhostProfile: '/a' }),
      seccomp({ type: 'Unconfined' }),
      seccomp({ type: 'Unconfined', localhostProfile: '' }),
      appArmor({ type: 'Localhost', localhostProfile: 'x' }),
      appArmor({ type: 'Localhost' }),
      appArmor({ type: 'Localhost', localhostProfile: '' }),
      appArmor({ type: 'Localhost', localhostProfile: 'x ' }),
      appArmor({ type: 'Localhost', localhostProfile: long.slice(1) }),
      appArmor({ type: 'Localhost', localhostProfile: long }),
      appArmor({ type: 'Unconfined' }),
      appArmor({ type: 'Unconfined', localhostProfile: 'x' }),
      appArmor({ type: 'RuntimeDefault', localhostProfile: '' }),
      appArmor({ type: 'odd', localhostProfile: 'x' }),
    ],
    [
      [],
      ['c.seccompProfile.localhostProfile: Invalid value: "/a": must be a relative path'],
      [],
      [
        'c.seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":""}: can only be set when seccomp type is Localhost',
      ],
      [],
      ['c.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost'],
      ['c.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost'],
      ['c.appArmorProfile.localhostProfile: Invalid value: "x ": must not be padded with whitespace'],
      [],
      ['c.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes'],
      [],
      ['c.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost'],
      ['c.appArmorProfile.localhostProfile: Invalid value: "": can only be set when AppArmor type is Localhost'],
      [`c.appArmorProfile.type: Unsupported value: "odd": ${kinds}`],
    ],
  );
});

const ofPod = 'seccomp.security.alpha.kubernetes.io/pod';
const ofContainer = 'container.seccomp.security.alpha.kubernetes.io/main';
const appArmorOf = 'container.apparmor.security.beta.kubernetes.io/';

test('profiles in the old annotations are well-formed, and belong to containers of the pod', () => {
  const check = (annotations: Record<string, string>): string[] =>
    texts((errors) =>
      validateProfileTexts(
        errors,
        buildPod({
          'metadata.annotations': annotations,
          'spec.initContainers': [{ name: 'setup', image: 'x' }],
        }),
      ),
    );
  assert.deepEqual(
    [
      texts((errors) => validateProfileTexts(errors, buildPod({ 'metadata.annotations': undefined }))),
      check({ other: 'x' }),
      check({ [ofPod]: 'runtime/default', [ofContainer]: 'docker/default' }),
      check({ [ofPod]: 'unconfined', [ofContainer]: 'localhost/a/b' }),
      check({ [ofPod]: 'odd' }),
      check({ [ofContainer]: 'localhost/../x' }),
      check({ [`${appArmorOf}main`]: '', [`${appArmorOf}setup`]: 'localhost/x' }),
      check({ [`${appArmorOf}main`]: 'runtime/default', [`${appArmorOf}setup`]: 'unconfined' }),
      check({ [`${appArmorOf}other`]: 'odd' }),
    ],
    [
      [],
      [],
      [],
      [],
      [`metadata.annotations.${ofPod}: Invalid value: "odd": must be a valid seccomp profile`],
      [`metadata.annotations.${ofContainer}: Invalid value: "../x": must not contain '..'`],
      [],
      [],
      [
        `metadata.annotations[${appArmorOf}other]: Invalid value: "other": container not found`,
        `metadata.annotations[${appArmorOf}other]: Invalid value: "odd": invalid AppArmor profile name: "odd"`,
      ],
    ],
  );
});

test('the old annotations of a new pod say the same as the fields that replaced them', () => {
  const check = (annotation: string, value: string, changes: Changes): string[] =>
    texts((errors) =>
      matchProfileAnnotations(errors, buildPod({ 'metadata.annotations': { [annotation]: value }, ...changes })),
    );
  const pod = (field: string, type: string, localhostProfile?: string): Changes => ({
    [`spec.securityContext.${field}`]: { type, ...(localhostProfile !== undefined && { localhostProfile }) },
  });
  const main = (field: string, type: string, localhostProfile?: string): Changes => ({
    [`spec.containers[0].securityContext.${field}`]: {
      type,
      ...(localhostProfile !== undefined && { localhostProfile }),
    },
  });
  const seccomp = 'seccompProfile';
  const appArmor = 'appArmorProfile';
  const type = 'type: Forbidden: seccomp type in annotation and field must match';
  const armorType = 'type: Forbidden: apparmor type in annotation and field must match';
  const rows: [annotation: string, value: string, changes: Changes, fault?: string][] = [
    [ofPod, 'unconfined', {}],
    [ofPod, 'unconfined', pod(seccomp, 'Unconfined')],
    [ofPod, 'runtime/default', pod(seccomp, 'Unconfined'), `spec.securityContext.seccompProfile.${type}`],
    [ofPod, 'runtime/default', pod(seccomp, 'RuntimeDefault')],
    [ofPod, 'docker/default', pod(seccomp, 'RuntimeDefault')],
    [ofPod, 'unconfined', pod(seccomp, 'RuntimeDefault'), `spec.securityContext.seccompProfile.${type}`],
    [ofPod, 'localhost/a', pod(seccomp, 'Localhost', 'a')],
    [
      ofPod,
      'localhost/a',
      pod(seccomp, 'Localhost', 'b'),
      'spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match',
    ],
    [ofPod, 'unconfined', pod(seccomp, 'Localhost', 'a'), `spec.securityContext.seccompProfile.${type}`],
    [ofContainer, 'unconfined', pod(seccomp, 'RuntimeDefault')],
    [
      ofContainer,
      'unconfined',
      main(seccomp, 'RuntimeDefault'),
      `spec.containers[0].securityContext.seccompProfile.${type}`,
    ],
    [`${ofContainer}2`, 'unconfined', main(seccomp, 'RuntimeDefault')],
    [`${appArmorOf}main`, 'runtime/default', main(appArmor, 'RuntimeDefault')],
    [
      `${appArmorOf}main`,
      'docker/default',
      main(appArmor, 'RuntimeDefault'),
      `spec.containers[0].securityContext.appArmorProfile.${armorType}`,
    ],
    [
      `${appArmorOf}main`,
      'unconfined',
      pod(appArmor, 'RuntimeDefault'),
      `spec.containers[0].securityContext.appArmorProfile.${armorType}`,
    ],
    [
      `${appArmorOf}main`,
      'localhost/a',
      main(appArmor, 'Localhost', 'b'),
      'spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: apparmor profile in annotation and field must match',
    ],
    [`${appArmorOf}main`, 'unconfined', { 'spec.os': { name: 'windows' }, ...pod(appArmor, 'RuntimeDefault') }],
  ];
  assert.deepEqual(
    rows.map(([annotation, value, changes]) => check(annotation, value, changes)),
    rows.map(([, , , fault]) => (fault === undefined ? [] : [fault])),
  );
  assert.deepEqual(
    texts((errors) => matchProfileAnnotations(errors, buildPod({ 'metadata.annotations': undefined }))),
    [],
  );
});
