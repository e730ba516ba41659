/** Security settings of a pod and its containers. The fields follow k8s.io/api/core/v1. */
import {
  array,
  boolean,
  field,
  smallInt64,
  knownValues,
  object,
  oneOf,
  pointer,
  required,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

export const CapabilitiesSchema = object('Capabilities', {
  add: field(1, array(string)),
  drop: field(2, array(string)),
});
export type Capabilities = Infer<typeof CapabilitiesSchema>;

export const SELinuxOptionsSchema = object('SELinuxOptions', {
  user: field(1, string),
  role: field(2, string),
  type: field(3, string),
  level: field(4, string),
});
export type SELinuxOptions = Infer<typeof SELinuxOptionsSchema>;

export const WindowsSecurityContextOptionsSchema = object('WindowsSecurityContextOptions', {
  gmsaCredentialSpecName: pointer(1, string),
  gmsaCredentialSpec: pointer(2, string),
  runAsUserName: pointer(3, string),
  hostProcess: pointer(4, boolean),
});
export type WindowsSecurityContextOptions = Infer<typeof WindowsSecurityContextOptionsSchema>;

const SeccompProfileTypeSchema = oneOf('Unconfined', 'RuntimeDefault', 'Localhost');
export type SeccompProfileType = Infer<typeof SeccompProfileTypeSchema>;

export const SeccompProfileSchema = object('SeccompProfile', {
  type: required(1, SeccompProfileTypeSchema),
  localhostProfile: pointer(2, string),
});
export type SeccompProfile = Infer<typeof SeccompProfileSchema>;

const AppArmorProfileTypeSchema = oneOf('Unconfined', 'RuntimeDefault', 'Localhost');
export type AppArmorProfileType = Infer<typeof AppArmorProfileTypeSchema>;

export const AppArmorProfileSchema = object('AppArmorProfile', {
  type: required(1, AppArmorProfileTypeSchema),
  localhostProfile: pointer(2, string),
});
export type AppArmorProfile = Infer<typeof AppArmorProfileSchema>;

const ProcMountTypeSchema = oneOf('Default', 'Unmasked');
export type ProcMountType = Infer<typeof ProcMountTypeSchema>;

export const SecurityContextSchema = object('SecurityContext', {
  capabilities: field(1, CapabilitiesSchema),
  privileged: pointer(2, boolean),
  seLinuxOptions: field(3, SELinuxOptionsSchema),
  windowsOptions: field(10, WindowsSecurityContextOptionsSchema),
  runAsUser: pointer(4, smallInt64),
  runAsGroup: pointer(8, smallInt64),
  runAsNonRoot: pointer(5, boolean),
  readOnlyRootFilesystem: pointer(6, boolean),
  allowPrivilegeEscalation: pointer(7, boolean),
  procMount: pointer(9, ProcMountTypeSchema),
  seccompProfile: field(11, SeccompProfileSchema),
  appArmorProfile: field(12, AppArmorProfileSchema),
});
export type SecurityContext = Infer<typeof SecurityContextSchema>;

export const SysctlSchema = object('Sysctl', {
  name: required(1, string),
  value: required(2, string),
});
export type Sysctl = Infer<typeof SysctlSchema>;

const SupplementalGroupsPolicySchema = oneOf('Merge', 'Strict');
export type SupplementalGroupsPolicy = Infer<typeof SupplementalGroupsPolicySchema>;

const PodFSGroupChangePolicySchema = oneOf('OnRootMismatch', 'Always');
export type PodFSGroupChangePolicy = Infer<typeof PodFSGroupChangePolicySchema>;

const PodSELinuxChangePolicySchema = knownValues('Recursive', 'MountOption');
export type PodSELinuxChangePolicy = Infer<typeof PodSELinuxChangePolicySchema>;

export const PodSecurityContextSchema = object('PodSecurityContext', {
  seLinuxOptions: field(1, SELinuxOptionsSchema),
  windowsOptions: field(8, WindowsSecurityContextOptionsSchema),
  runAsUser: pointer(2, smallInt64),
  runAsGroup: pointer(6, smallInt64),
  runAsNonRoot: pointer(3, boolean),
  supplementalGroups: field(4, array(smallInt64)),
  supplementalGroupsPolicy: pointer(12, SupplementalGroupsPolicySchema),
  fsGroup: pointer(5, smallInt64),
  sysctls: field(7, array(SysctlSchema)),
  fsGroupChangePolicy: pointer(9, PodFSGroupChangePolicySchema),
  seccompProfile: field(10, SeccompProfileSchema),
  appArmorProfile: field(11, AppArmorProfileSchema),
  seLinuxChangePolicy: pointer(13, PodSELinuxChangePolicySchema),
});
export type PodSecurityContext = Infer<typeof PodSecurityContextSchema>;
