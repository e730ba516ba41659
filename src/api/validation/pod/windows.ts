/**
 * The operating system of a pod, and the fields that only one system has. Pods for Windows are validated, but do not
 * run on this node.
 */
import { lookupTable } from '../../../base/lookup.ts';
import type { PodSpec } from '../../core/pod-spec.ts';
import type { WindowsSecurityContextOptions } from '../../core/security-context.ts';
import { allContainers } from '../../pod.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import type { FieldErrors } from '../field-error.ts';
import { byteLength, checkDnsSubdomain } from '../names.ts';

const MAX_CREDENTIAL_SPEC_KIB = 64;
const MAX_DOMAIN_BYTES = 256;
const MAX_USER_BYTES = 104;
const netBiosDomain = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const DNS_LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const dnsDomain = new RegExp(`^${DNS_LABEL}(?:\\.${DNS_LABEL})*$`);

/** Upstream: validateWindowsSecurityContextOptions. */
export function validateWindowsOptions(
  errors: FieldErrors,
  path: string,
  options: WindowsSecurityContextOptions | undefined,
): void {
  if (options === undefined) return;
  const { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName } = options;
  if (gmsaCredentialSpecName !== undefined)
    errors.invalidEach(
      `${path}.gmsaCredentialSpecName`,
      gmsaCredentialSpecName,
      checkDnsSubdomain(gmsaCredentialSpecName),
    );
  if (gmsaCredentialSpec === '')
    errors.invalid(`${path}.gmsaCredentialSpec`, '', 'gmsaCredentialSpec cannot be an empty string');
  else if (gmsaCredentialSpec !== undefined && byteLength(gmsaCredentialSpec) > MAX_CREDENTIAL_SPEC_KIB * 1024) {
    errors.invalid(
      `${path}.gmsaCredentialSpec`,
      gmsaCredentialSpec,
      `gmsaCredentialSpec size must be under ${MAX_CREDENTIAL_SPEC_KIB} KiB`,
    );
  }
  if (runAsUserName !== undefined)
    errors.invalidEach(`${path}.runAsUserName`, runAsUserName, checkUserName(runAsUserName));
}

/** `USER` or `DOMAIN\USER`. */
function checkUserName(name: string): string[] {
  const field = 'runAsUserName';
  if (name === '') return [`${field} cannot be an empty string`];
  if ([...name].some((letter) => letter < ' ' || letter === '\u007f'))
    return [`${field} cannot contain control characters`];
  const parts = name.split('\\');
  if (parts.length > 2) return [`${field} cannot contain more than one backslash`];
  const user = parts.at(-1) ?? '';
  const domain = parts.length === 2 ? (parts[0] ?? '') : undefined;
  const complaints: string[] = [];
  if (domain !== undefined && byteLength(domain) >= MAX_DOMAIN_BYTES)
    complaints.push(`${field}'s Domain length must be under ${MAX_DOMAIN_BYTES} characters`);
  if (domain !== undefined && !netBiosDomain.test(domain) && !dnsDomain.test(domain))
    complaints.push(`${field}'s Domain doesn't match the NetBios nor the DNS format`);
  if (user === '') complaints.push(`${field}'s User cannot be empty`);
  else if (byteLength(user) > MAX_USER_BYTES)
    complaints.push(`${field}'s User length must not be longer than ${MAX_USER_BYTES} characters`);
  if (/^[. ]+$/.test(user)) complaints.push(`${field}'s User cannot contain only periods or spaces`);
  if (/["/\\:;|=,+*?<>@[\]]/.test(user))
    complaints.push(`${field}'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]`);
  return complaints;
}

/** Upstream: validateWindowsHostProcessPod, which checks pods of all systems. */
export function validateHostProcess(
  errors: FieldErrors,
  path: string,
  spec: PodSpec,
  { allowPrivileged }: ClusterPolicy,
): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  let all = 0;
  let asked = 0;
  for (const { container, path: at } of allContainers({ metadata: noMeta, spec })) {
    const own = container.securityContext?.windowsOptions?.hostProcess;
    all++;
    if (own ?? ofPod ?? false) asked++;
    if (ofPod !== undefined && own !== undefined && ofPod !== own)
      errors.invalid(
        `${at}.securityContext.windowsOptions.hostProcess`,
        own,
        `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
      );
  }
  if (asked === 0) return;
  if (asked !== all)
    errors.invalid(
      path,
      '',
      'If pod contains any hostProcess containers then all containers must be HostProcess containers',
    );
  if (spec.hostNetwork !== true)
    errors.invalid(`${path}.hostNetwork`, false, 'hostNetwork must be true if pod contains any hostProcess containers');
  if (!allowPrivileged) errors.forbidden(path, 'hostProcess containers are disallowed by cluster policy');
}

/** Rejects Windows-only fields of a Linux pod, and Linux-only fields of a Windows pod. */
export function validateOs(errors: FieldErrors, path: string, spec: PodSpec): void {
  const name: string | undefined = spec.os?.name;
  if (name === undefined) return;
  if (name === '') return errors.required(`${path}.os.name`);
  if (name !== 'linux' && name !== 'windows') return errors.notSupported(`${path}.os`, name, ['linux', 'windows']);
  if (name === 'linux') validateLinux(errors, path, spec);
  else validateWindows(errors, path, spec);
}

function validateLinux(errors: FieldErrors, path: string, spec: PodSpec): void {
  const message = 'windows options cannot be set for a linux pod';
  if (spec.securityContext?.windowsOptions !== undefined)
    errors.forbidden(`${path}.securityContext.windowsOptions`, message);
  for (const { container, path: at } of allContainers({ metadata: noMeta, spec })) {
    if (container.securityContext?.windowsOptions !== undefined)
      errors.forbidden(`${at}.securityContext.windowsOptions`, message);
  }
}

const noMeta = { name: '', namespace: '', uid: '' };
/**
 * Fields with a leading slash belong to the spec. Upstream has plain booleans for the first two and a list for sysctls,
 * so false and empty count as absent.
 */
const podFieldsForbiddenOnWindows = [
  'appArmorProfile',
  'seLinuxOptions',
  '/hostUsers',
  '/hostPID',
  '/hostIPC',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  '/shareProcessNamespace',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
];
const saysNothing: Readonly<Record<string, (value: unknown) => boolean>> = lookupTable({
  '/hostPID': (value) => value === false,
  '/hostIPC': (value) => value === false,
  sysctls: (value) => Array.isArray(value) && value.length === 0,
});
const containerFieldsForbiddenOnWindows = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
];

function validateWindows(errors: FieldErrors, path: string, spec: PodSpec): void {
  const message = 'cannot be set for a windows pod';
  const ofPod: Readonly<Record<string, unknown>> = spec.securityContext ?? {};
  for (const name of podFieldsForbiddenOnWindows) {
    const ofSpec = name.startsWith('/');
    const value = ofSpec ? (spec as Readonly<Record<string, unknown>>)[name.slice(1)] : ofPod[name];
    if (value !== undefined && saysNothing[name]?.(value) !== true)
      errors.forbidden(ofSpec ? `${path}${name.replace('/', '.')}` : `${path}.securityContext.${name}`, message);
  }
  for (const { container, path: at } of allContainers({ metadata: noMeta, spec })) {
    const ofContainer: Readonly<Record<string, unknown>> = container.securityContext ?? {};
    for (const field of containerFieldsForbiddenOnWindows)
      if (ofContainer[field] !== undefined) errors.forbidden(`${at}.securityContext.${field}`, message);
  }
}
