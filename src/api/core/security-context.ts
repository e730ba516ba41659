/** What a pod and its containers may do and whom they run as. Which fields exist follows k8s.io/api/core/v1. */
import { array, boolean, int64, object, oneOf, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

export const CapabilitiesSchema = object('Capabilities', {
  add: array(string),
  drop: array(string),
});
export type Capabilities = Infer<typeof CapabilitiesSchema>;

export const SELinuxOptionsSchema = object('SELinuxOptions', {
  user: string,
  role: string,
  type: string,
  level: string,
});
export type SELinuxOptions = Infer<typeof SELinuxOptionsSchema>;

export const WindowsSecurityContextOptionsSchema = object('WindowsSecurityContextOptions', {
  gmsaCredentialSpecName: string,
  gmsaCredentialSpec: string,
  runAsUserName: string,
  hostProcess: boolean,
});
export type WindowsSecurityContextOptions = Infer<typeof WindowsSecurityContextOptionsSchema>;

export const SeccompProfileTypeSchema = oneOf('Unconfined', 'RuntimeDefault', 'Localhost');
export type SeccompProfileType = Infer<typeof SeccompProfileTypeSchema>;

export const SeccompProfileSchema = object('SeccompProfile', {
  type: required(SeccompProfileTypeSchema),
  localhostProfile: string,
});
export type SeccompProfile = Infer<typeof SeccompProfileSchema>;

export const AppArmorProfileTypeSchema = oneOf('Unconfined', 'RuntimeDefault', 'Localhost');
export type AppArmorProfileType = Infer<typeof AppArmorProfileTypeSchema>;

export const AppArmorProfileSchema = object('AppArmorProfile', {
  type: required(AppArmorProfileTypeSchema),
  localhostProfile: string,
});
export type AppArmorProfile = Infer<typeof AppArmorProfileSchema>;

export const ProcMountTypeSchema = oneOf('Default', 'Unmasked');
export type ProcMountType = Infer<typeof ProcMountTypeSchema>;

export const SecurityContextSchema = object('SecurityContext', {
  capabilities: CapabilitiesSchema,
  privileged: boolean,
  seLinuxOptions: SELinuxOptionsSchema,
  windowsOptions: WindowsSecurityContextOptionsSchema,
  runAsUser: int64,
  runAsGroup: int64,
  runAsNonRoot: boolean,
  readOnlyRootFilesystem: boolean,
  allowPrivilegeEscalation: boolean,
  procMount: ProcMountTypeSchema,
  seccompProfile: SeccompProfileSchema,
  appArmorProfile: AppArmorProfileSchema,
});
export type SecurityContext = Infer<typeof SecurityContextSchema>;

export const SysctlSchema = object('Sysctl', {
  name: required(string),
  value: required(string),
});
export type Sysctl = Infer<typeof SysctlSchema>;

export const SupplementalGroupsPolicySchema = oneOf('Merge', 'Strict');
export type SupplementalGroupsPolicy = Infer<typeof SupplementalGroupsPolicySchema>;

export const PodFSGroupChangePolicySchema = oneOf('OnRootMismatch', 'Always');
export type PodFSGroupChangePolicy = Infer<typeof PodFSGroupChangePolicySchema>;

export const PodSELinuxChangePolicySchema = oneOf('Recursive', 'MountOption');
export type PodSELinuxChangePolicy = Infer<typeof PodSELinuxChangePolicySchema>;

export const PodSecurityContextSchema = object('PodSecurityContext', {
  seLinuxOptions: SELinuxOptionsSchema,
  windowsOptions: WindowsSecurityContextOptionsSchema,
  runAsUser: int64,
  runAsGroup: int64,
  runAsNonRoot: boolean,
  supplementalGroups: array(int64),
  supplementalGroupsPolicy: SupplementalGroupsPolicySchema,
  fsGroup: int64,
  sysctls: array(SysctlSchema),
  fsGroupChangePolicy: PodFSGroupChangePolicySchema,
  seccompProfile: SeccompProfileSchema,
  appArmorProfile: AppArmorProfileSchema,
  seLinuxChangePolicy: PodSELinuxChangePolicySchema,
});
export type PodSecurityContext = Infer<typeof PodSecurityContextSchema>;
