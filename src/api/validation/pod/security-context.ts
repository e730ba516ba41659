import type { Pod } from '../../core/pod.ts';
import type { PodSpec } from '../../core/pod-spec.ts';
import type {
  AppArmorProfile,
  PodSecurityContext,
  SeccompProfile,
  SecurityContext,
} from '../../core/security-context.ts';
import { annotations } from '../../annotations.ts';
import { allContainers } from '../../pod.ts';
import { MAX_SYSCTL_BYTES, sysctlNamespace, SYSCTL_SEGMENT } from '../../sysctl-name.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import type { FieldErrors } from '../field-error.ts';
import { profileForm, securityContextForm } from '../internal-form.ts';
import { byteLength, checkId } from '../names.ts';
import { validateDescendingPath } from './paths.ts';
import type { PodValidationContext } from './pod-validation-context.ts';
import { validateWindowsOptions } from './windows.ts';

const MAX_PROFILE_PATH_BYTES = 4095;
const SYSCTL_FORMAT = `^(${SYSCTL_SEGMENT}[\\./])*${SYSCTL_SEGMENT}$`;
const sysctlPattern = new RegExp(SYSCTL_FORMAT);

/** Validates the pod's security context (upstream: validatePodSpecSecurityContext). */
export function validatePodSecurityContext(
  errors: FieldErrors,
  path: string,
  spec: PodSpec,
  context: PodValidationContext,
): void {
  const { securityContext } = spec;
  if (securityContext === undefined) return;
  for (const field of ['fsGroup', 'runAsUser', 'runAsGroup'] as const) {
    const id = securityContext[field];
    if (id !== undefined) errors.invalidEach(`${path}.${field}`, id, checkId(id));
  }
  for (const [index, group] of (securityContext.supplementalGroups ?? []).entries())
    errors.invalidEach(`${path}.supplementalGroups[${index}]`, group, checkId(group));
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    errors.invalid(`${path}.shareProcessNamespace`, true, 'ShareProcessNamespace and HostPID cannot both be enabled');
  }
  validateSysctls(errors, `${path}.sysctls`, spec, context);
  validateChoice(errors, `${path}.fsGroupChangePolicy`, securityContext.fsGroupChangePolicy, [
    'Always',
    'OnRootMismatch',
  ]);
  validateProfiles(errors, path, securityContext);
  validateChoice(errors, `${path}.supplementalGroupsPolicy`, securityContext.supplementalGroupsPolicy, [
    'Merge',
    'Strict',
  ]);
  // The other policy needs a feature gate that is off by default; objects that already have a policy may use either.
  if (securityContext.seLinuxChangePolicy !== undefined) {
    validateChoice(
      errors,
      `${path}.seLinuxChangePolicy`,
      securityContext.seLinuxChangePolicy,
      context.hadBefore('seLinuxChangePolicy') ? ['MountOption', 'Recursive'] : ['Recursive'],
    );
  }
}

function validateChoice(
  errors: FieldErrors,
  field: string,
  value: string | undefined,
  supported: readonly string[],
): void {
  if (value !== undefined) errors.oneOf(field, value, supported);
}

function validateProfiles(errors: FieldErrors, path: string, context: PodSecurityContext | SecurityContext): void {
  validateSeccomp(errors, `${path}.seccompProfile`, context.seccompProfile);
  validateWindowsOptions(errors, `${path}.windowsOptions`, context.windowsOptions);
  validateAppArmor(errors, `${path}.appArmorProfile`, context.appArmorProfile);
}

export interface ContainerPrivileges {
  /** Whether the pod has its own user namespace. */
  readonly ownUsers: boolean;
  readonly policy: ClusterPolicy;
}

/** Validates the security context of one container. */
export function validateSecurityContext(
  errors: FieldErrors,
  path: string,
  context: SecurityContext | undefined,
  { ownUsers, policy }: ContainerPrivileges,
): void {
  if (context === undefined) return;
  if (context.privileged === true && !policy.allowPrivileged)
    errors.forbidden(`${path}.privileged`, 'disallowed by cluster policy');
  if (context.runAsUser !== undefined)
    errors.invalidEach(`${path}.runAsUser`, context.runAsUser, checkId(context.runAsUser));
  if (context.runAsGroup !== undefined)
    errors.invalidEach(`${path}.runAsGroup`, context.runAsGroup, checkId(context.runAsGroup));
  if (context.procMount !== undefined) {
    errors.oneOf(`${path}.procMount`, context.procMount, ['Default', 'Unmasked']);
    if (!ownUsers && context.procMount === 'Unmasked')
      errors.invalid(`${path}.procMount`, context.procMount, '`hostUsers` must be false to use `Unmasked`');
  }
  validateSeccomp(errors, `${path}.seccompProfile`, context.seccompProfile);
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged === true)
      errors.invalid(
        path,
        securityContextForm(context),
        'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
      );
    if (context.capabilities?.add?.includes('CAP_SYS_ADMIN') === true)
      errors.invalid(
        path,
        securityContextForm(context),
        'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
      );
  }
  validateWindowsOptions(errors, `${path}.windowsOptions`, context.windowsOptions);
  validateAppArmor(errors, `${path}.appArmorProfile`, context.appArmorProfile);
}

function validateSeccomp(errors: FieldErrors, path: string, profile: SeccompProfile | undefined): void {
  if (profile === undefined) return;
  if (!profile.type) errors.required(`${path}.type`, 'type is required when seccompProfile is set');
  else errors.oneOf(`${path}.type`, profile.type, ['Localhost', 'RuntimeDefault', 'Unconfined']);
  const field = `${path}.localhostProfile`;
  if (profile.type !== 'Localhost') {
    if (profile.localhostProfile !== undefined)
      errors.invalid(field, profileForm(profile), 'can only be set when seccomp type is Localhost');
  } else if (profile.localhostProfile === undefined)
    errors.required(field, 'must be set when seccomp type is Localhost');
  else validateDescendingPath(errors, field, profile.localhostProfile);
}

function validateAppArmor(errors: FieldErrors, path: string, profile: AppArmorProfile | undefined): void {
  if (profile === undefined) return;
  const field = `${path}.localhostProfile`;
  const local = profile.localhostProfile;
  if (!profile.type) return errors.required(`${path}.type`, 'type is required when appArmorProfile is set');
  errors.oneOf(`${path}.type`, profile.type, ['Localhost', 'RuntimeDefault', 'Unconfined']);
  if (profile.type === 'Localhost') {
    if (local === undefined || local === '')
      return errors.required(field, 'must be set when AppArmor type is Localhost');
    if (local.trim() !== local) errors.invalid(field, local, 'must not be padded with whitespace');
    if (byteLength(local) > MAX_PROFILE_PATH_BYTES) errors.tooLong(field, MAX_PROFILE_PATH_BYTES);
  } else if (local !== undefined && (profile.type === 'RuntimeDefault' || profile.type === 'Unconfined')) {
    errors.invalid(field, local, 'can only be set when AppArmor type is Localhost');
  }
}

function validateSysctls(errors: FieldErrors, path: string, spec: PodSpec, context: PodValidationContext): void {
  const seen = new Set<string>();
  for (const [index, { name }] of (spec.securityContext?.sysctls ?? []).entries()) {
    const field = `${path}[${index}].name`;
    if (name === '') errors.required(field);
    else if (byteLength(name) > MAX_SYSCTL_BYTES || !sysctlPattern.test(name))
      errors.invalid(field, name, `must have at most ${MAX_SYSCTL_BYTES} characters and match regex ${SYSCTL_FORMAT}`);
    else if (seen.has(name)) errors.duplicate(field, name);
    const complaint = hostSysctlComplaint(name, spec);
    if (complaint !== undefined && !context.hadBefore('hostSysctl')) errors.invalid(field, name, complaint);
    seen.add(name);
  }
}

/** The error for a sysctl of a namespace that the pod shares with the host (upstream: ValidateHostSysctl). */
function hostSysctlComplaint(name: string, { hostNetwork, hostIPC }: PodSpec): string | undefined {
  const namespace = sysctlNamespace(name);
  if (hostNetwork === true && namespace === 'Net') return "may not be specified when 'hostNetwork' is true";
  return hostIPC === true && namespace === 'IPC' ? "may not be specified when 'hostIPC' is true" : undefined;
}

export function hasHostSysctl(spec: PodSpec): boolean {
  return (spec.securityContext?.sysctls ?? []).some(({ name }) => hostSysctlComplaint(name, spec) !== undefined);
}

/**
 * Validates the format of the old annotations (upstream: ValidateSeccompPodAnnotations,
 * ValidateAppArmorPodAnnotations).
 */
export function validateProfileTexts(errors: FieldErrors, pod: Pod): void {
  let containers: ReadonlySet<string> | undefined;
  for (const [key, value] of Object.entries(pod.metadata.annotations ?? {})) {
    const field = `metadata.annotations.${key}`;
    if (key === annotations.seccompPod || key.startsWith(annotations.seccompContainerPrefix))
      validateSeccompText(errors, field, value);
    if (!key.startsWith(annotations.appArmorContainerPrefix)) continue;
    containers ??= new Set([...allContainers(pod)].map(({ container }) => container.name));
    validateAppArmorText(errors, { key, value }, containers);
  }
}

/**
 * In new pods and templates, the old annotations must equal the fields that replaced them (upstream:
 * validateSeccompAnnotationsAndFields and its sibling).
 */
export function matchProfileAnnotations(errors: FieldErrors, pod: Pod): void {
  const given = pod.metadata.annotations ?? {};
  const ofPod = given[annotations.seccompPod];
  if (ofPod !== undefined)
    matchSeccomp(errors, 'spec.securityContext.seccompProfile', pod.spec.securityContext?.seccompProfile, ofPod);
  for (const { container, path } of allContainers(pod)) {
    const seccomp = given[annotations.seccompContainerPrefix + container.name];
    if (seccomp !== undefined)
      matchSeccomp(
        errors,
        `${path}.securityContext.seccompProfile`,
        container.securityContext?.seccompProfile,
        seccomp,
      );
    const appArmor = given[annotations.appArmorContainerPrefix + container.name];
    const profile = container.securityContext?.appArmorProfile ?? pod.spec.securityContext?.appArmorProfile;
    if (appArmor !== undefined && pod.spec.os?.name !== 'windows')
      matchAppArmor(errors, `${path}.securityContext.appArmorProfile`, profile, appArmor);
  }
}

function validateSeccompText(errors: FieldErrors, field: string, value: string): void {
  if (value === 'runtime/default' || value === 'docker/default' || value === 'unconfined') return;
  if (value.startsWith('localhost/')) validateDescendingPath(errors, field, value.slice('localhost/'.length));
  else errors.invalid(field, value, 'must be a valid seccomp profile');
}

function validateAppArmorText(
  errors: FieldErrors,
  { key, value }: { readonly key: string; readonly value: string },
  containers: ReadonlySet<string>,
): void {
  const name = key.slice(annotations.appArmorContainerPrefix.length);
  const field = `metadata.annotations[${key}]`;
  if (!containers.has(name)) errors.invalid(field, name, 'container not found');
  if (value !== '' && value !== 'runtime/default' && value !== 'unconfined' && !value.startsWith('localhost/'))
    errors.invalid(field, value, `invalid AppArmor profile name: ${JSON.stringify(value)}`);
}

type Profile = { readonly type: string; readonly localhostProfile?: string };

function matchSeccomp(errors: FieldErrors, path: string, profile: Profile | undefined, annotation: string): void {
  matchProfile(errors, path, profile, { annotation, kind: 'seccomp', defaults: ['runtime/default', 'docker/default'] });
}

function matchAppArmor(errors: FieldErrors, path: string, profile: Profile | undefined, annotation: string): void {
  matchProfile(errors, path, profile, { annotation, kind: 'apparmor', defaults: ['runtime/default'] });
}

function matchProfile(
  errors: FieldErrors,
  path: string,
  profile: Profile | undefined,
  { annotation, kind, defaults }: { annotation: string; kind: string; defaults: readonly string[] },
): void {
  if (profile === undefined) return;
  const differs =
    (profile.type === 'Unconfined' && annotation !== 'unconfined') ||
    (profile.type === 'RuntimeDefault' && !defaults.includes(annotation)) ||
    (profile.type === 'Localhost' && !annotation.startsWith('localhost/'));
  if (differs) errors.forbidden(`${path}.type`, `${kind} type in annotation and field must match`);
  else if (profile.type === 'Localhost' && annotation.slice('localhost/'.length) !== profile.localhostProfile) {
    errors.forbidden(`${path}.localhostProfile`, `${kind} profile in annotation and field must match`);
  }
}
