import { KubeletError } from '../../base/errors.ts';
import { SecurityProfile_ProfileType } from '../../cri/generated/cri-v1.ts';
import type { SecurityProfile, SELinuxOption } from '../../cri/generated/cri-v1.ts';

/** The relevant part of the security context of a container or a sandbox. */
interface SecurityChoice {
  readonly privileged?: boolean;
  readonly seccomp?: SecurityProfile | undefined;
  readonly apparmor?: SecurityProfile | undefined;
  readonly selinuxOptions?: SELinuxOption | undefined;
  /** Absent for a sandbox. */
  readonly noNewPrivs?: boolean;
}

/** A local seccomp profile is a file; Docker expects its text. */
export type ReadProfile = (file: string) => Promise<string>;

/**
 * Docker's `SecurityOpt` for a container or a sandbox. A seccomp profile that is not given means none, as the CRI says;
 * an AppArmor profile that is not given means Docker's own. A privileged container has neither. `readProfile` is called
 * for a local seccomp profile; it rejects with `Invalid` or `NotFound`.
 */
export async function securityOptions(choice: SecurityChoice, readProfile: ReadProfile): Promise<string[]> {
  return [
    ...(await seccompOptions(choice, readProfile)),
    ...apparmorOptions(choice),
    ...selinuxOptions(choice.selinuxOptions),
    ...(choice.noNewPrivs === true ? ['no-new-privileges'] : []),
  ];
}

async function seccompOptions({ privileged, seccomp }: SecurityChoice, readProfile: ReadProfile): Promise<string[]> {
  if (privileged === true || seccomp === undefined) return ['seccomp=unconfined'];
  switch (seccomp.profileType) {
    case SecurityProfile_ProfileType.RuntimeDefault:
      return [];
    case SecurityProfile_ProfileType.Localhost:
      return [`seccomp=${await readProfile(seccomp.localhostRef)}`];
    default:
      return ['seccomp=unconfined'];
  }
}

function apparmorOptions({ privileged, apparmor }: SecurityChoice): string[] {
  if (privileged === true || apparmor === undefined) return [];
  switch (apparmor.profileType) {
    case SecurityProfile_ProfileType.RuntimeDefault:
      return [];
    case SecurityProfile_ProfileType.Localhost:
      return [`apparmor=${localProfile(apparmor.localhostRef)}`];
    default:
      return ['apparmor=unconfined'];
  }
}

function localProfile(reference: string): string {
  const name = reference.replace(/^localhost\//, '');
  if (name === '') throw new KubeletError('Invalid', 'the AppArmor profile of the container has no name');
  return name;
}

function selinuxOptions(selinux: SELinuxOption | undefined): string[] {
  if (selinux === undefined) return [];
  return (['user', 'role', 'type', 'level'] as const)
    .filter((part) => selinux[part] !== '')
    .map((part) => `label=${part}:${selinux[part]}`);
}
