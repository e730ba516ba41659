import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { c0, refusalOf, testLevel } from './testing/level-cases.ts';
import type { LevelCase } from './testing/level-cases.ts';

describe('the level restricted', () => {
  const cases: readonly LevelCase[] = [
    ['a pod that follows every rule', {}, ''],
    [
      'a container that does not set allowPrivilegeEscalation=false',
      { [`${c0}.allowPrivilegeEscalation`]: undefined },
      'allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false)',
    ],
    [
      'an added capability with the message of this level, not also that of "baseline"',
      { [`${c0}.capabilities`]: { add: ['SYS_ADMIN', 'NET_BIND_SERVICE'] } },
      'unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"]; container "main" must not include "SYS_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      'volume types that are not allowed',
      {
        'spec.volumes': [
          { name: 'a', hostPath: { path: '/' } },
          { name: 'b', nfs: { server: 's', path: '/' } },
          { name: 'c', emptyDir: {} },
        ],
      },
      'restricted volume types (volumes "a", "b" use restricted volume types "hostPath", "nfs")',
    ],
    [
      'a pod without runAsNonRoot',
      { 'spec.securityContext.runAsNonRoot': undefined },
      'runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true)',
    ],
    [
      'runAsNonRoot=false',
      { 'spec.securityContext.runAsNonRoot': false, [`${c0}.runAsNonRoot`]: false },
      'runAsNonRoot != true (pod and container "main" must not set securityContext.runAsNonRoot=false)',
    ],
    ['user 0', { 'spec.securityContext.runAsUser': 0 }, 'runAsUser=0 (pod must not set runAsUser=0)'],
    [
      'a pod without a seccomp profile',
      { 'spec.securityContext.seccompProfile': undefined },
      'seccompProfile (pod or container "main" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ],
    [
      'a container that does not set what the pod leaves unset',
      {
        'spec.securityContext': undefined,
        'spec.containers': [true, undefined].map((runAsNonRoot, index) => ({
          name: `c${index}`,
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
            runAsNonRoot,
            ...(runAsNonRoot === true && { seccompProfile: { type: 'Localhost' } }),
          },
        })),
      },
      'runAsNonRoot != true (pod or container "c1" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c1" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ],
    ['user 0 in a container', { [`${c0}.runAsUser`]: 0 }, 'runAsUser=0 (container "main" must not set runAsUser=0)'],
    [
      'a container that does not drop all capabilities',
      { [`${c0}.capabilities`]: undefined },
      'unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"])',
    ],
    [
      'the seccomp profile Unconfined with the message of this level, not also that of "baseline"',
      { 'spec.securityContext.seccompProfile': { type: 'Unconfined' } },
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'an unmasked /proc, with one message',
      { [`${c0}.procMount`]: 'Unmasked' },
      'procMount (container "main" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'what "baseline" forbids, and lists it before the rules of this level',
      { 'spec.hostPID': true, 'spec.securityContext.runAsUser': 0 },
      'host namespaces (hostPID=true), runAsUser=0 (pod must not set runAsUser=0)',
    ],
  ];
  testLevel('restricted', cases);

  it('applies to Windows pods only the rules that make sense there', () => {
    const windows = { 'spec.os': { name: 'windows' }, [c0]: undefined, 'spec.securityContext': { runAsNonRoot: true } };
    assert.equal(refusalOf('restricted', windows), '');
    assert.notEqual(refusalOf('restricted', windows, 24), '');
  });

  it('allows root in a pod with its own user namespace', () => {
    const own = {
      'spec.hostUsers': false,
      'spec.securityContext.runAsNonRoot': undefined,
      'spec.securityContext.runAsUser': 0,
    };
    assert.equal(refusalOf('restricted', own), '');
    assert.notEqual(refusalOf('restricted', own, 34), '');
  });
});
