/**
 * Converts values to upstream's internal types, which its messages print: names start with a capital, and absent values
 * are null.
 */
import type {
  AppArmorProfile,
  Capabilities,
  SeccompProfile,
  SecurityContext,
  SELinuxOptions,
  WindowsSecurityContextOptions,
} from '../core/security-context.ts';

export function profileForm(profile: SeccompProfile | AppArmorProfile): object {
  return { Type: profile.type, LocalhostProfile: profile.localhostProfile ?? null };
}

export function securityContextForm(context: SecurityContext): object {
  return {
    Capabilities: orNull(context.capabilities, ({ add, drop }: Capabilities) => ({
      Add: add ?? null,
      Drop: drop ?? null,
    })),
    Privileged: context.privileged ?? null,
    SELinuxOptions: orNull(
      context.seLinuxOptions,
      ({ user = '', role = '', type = '', level = '' }: SELinuxOptions) => ({
        User: user,
        Role: role,
        Type: type,
        Level: level,
      }),
    ),
    WindowsOptions: orNull(context.windowsOptions, windowsForm),
    RunAsUser: context.runAsUser ?? null,
    RunAsGroup: context.runAsGroup ?? null,
    RunAsNonRoot: context.runAsNonRoot ?? null,
    ReadOnlyRootFilesystem: context.readOnlyRootFilesystem ?? null,
    AllowPrivilegeEscalation: context.allowPrivilegeEscalation ?? null,
    ProcMount: context.procMount ?? null,
    SeccompProfile: orNull(context.seccompProfile, profileForm),
    AppArmorProfile: orNull(context.appArmorProfile, profileForm),
  };
}

function windowsForm({
  gmsaCredentialSpecName,
  gmsaCredentialSpec,
  runAsUserName,
  hostProcess,
}: WindowsSecurityContextOptions): object {
  return {
    GMSACredentialSpecName: gmsaCredentialSpecName ?? null,
    GMSACredentialSpec: gmsaCredentialSpec ?? null,
    RunAsUserName: runAsUserName ?? null,
    HostProcess: hostProcess ?? null,
  };
}

function orNull<T>(value: T | undefined, form: (value: T) => object): object | null {
  return value === undefined ? null : form(value);
}
