import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  CapabilitiesSchema,
  SELinuxOptionsSchema,
  WindowsSecurityContextOptionsSchema,
  SeccompProfileSchema,
  AppArmorProfileSchema,
  SecurityContextSchema,
  SysctlSchema,
  PodSecurityContextSchema,
} from './security-context.ts';

export const docs: readonly TypeDocs[] = [
  describe(CapabilitiesSchema, 'Linux capabilities of a container.', {
    add: 'Capabilities to add to those of the runtime.',
    drop: 'Capabilities to remove; ALL removes all.',
  }),
  describe(SELinuxOptionsSchema, 'An SELinux label.', {
    user: 'The user of the label.',
    role: 'The role of the label.',
    type: 'The type of the label.',
    level: 'The level of the label.',
  }),
  describe(WindowsSecurityContextOptionsSchema, 'Settings for Windows only.', {
    gmsaCredentialSpecName: 'The GMSA credential spec to use.',
    gmsaCredentialSpec: 'The content of that credential spec.',
    runAsUserName: "The user that runs the entrypoint. Default the image's.",
    hostProcess: 'Runs the container as a host process.',
  }),
  describe(SeccompProfileSchema, 'A seccomp profile, which limits system calls.', {
    type: 'RuntimeDefault, Unconfined or Localhost.',
    localhostProfile: 'For Localhost: the path of the profile below the seccomp folder of the kubelet.',
  }),
  describe(AppArmorProfileSchema, 'An AppArmor profile.', {
    type: 'RuntimeDefault, Unconfined or Localhost.',
    localhostProfile: 'For Localhost: the name of the profile, which must be loaded on the node.',
  }),
  describe(SecurityContextSchema, 'Security settings of a container. They take precedence over those of the pod.', {
    capabilities: 'Linux capabilities to add and remove.',
    privileged: 'Whether the processes have all privileges of root on the node. Default false.',
    seLinuxOptions: 'The SELinux label.',
    windowsOptions: 'Settings for Windows only.',
    runAsUser: 'The user id of the processes. Default: the user of the image.',
    runAsGroup: 'The group id of the processes. Default: the group of the runtime.',
    runAsNonRoot: 'Whether the container fails to start as user 0. Default false.',
    readOnlyRootFilesystem: 'Whether the root file system is read-only. Default false.',
    allowPrivilegeEscalation:
      'Whether a process can gain more privileges than its parent. Default true; always true for privileged containers.',
    procMount: 'How /proc is mounted: Default or Unmasked. Default Default.',
    seccompProfile: 'The seccomp profile.',
    appArmorProfile: 'The AppArmor profile.',
  }),
  describe(SysctlSchema, 'A kernel parameter.', {
    name: 'The name of the parameter.',
    value: 'The value of the parameter.',
  }),
  describe(PodSecurityContextSchema, 'Security settings of a pod. Those of a container take precedence.', {
    seLinuxOptions: 'The SELinux label.',
    windowsOptions: 'Settings for Windows only.',
    runAsUser: 'The user id of the processes. Default: the user of the image.',
    runAsGroup: 'The group id of the processes. Default: the group of the runtime.',
    runAsNonRoot: 'Whether the containers fail to start as user 0. Default false.',
    supplementalGroups: 'Additional group ids of the processes.',
    supplementalGroupsPolicy:
      'Whether the groups of the user in the image are added to supplementalGroups: Merge or Strict. Default Merge.',
    fsGroup: 'The group id that owns the volumes of the pod.',
    sysctls: 'Kernel parameters in the namespaces of the pod.',
    fsGroupChangePolicy:
      'When fsGroup is applied to a volume: Always, or OnRootMismatch, only if the root directory differs. Default Always.',
    seccompProfile: 'The seccomp profile.',
    appArmorProfile: 'The AppArmor profile.',
    seLinuxChangePolicy: 'How volumes get the SELinux label of the pod: MountOption or Recursive. Default MountOption.',
  }),
];
