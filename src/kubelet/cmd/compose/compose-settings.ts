import type { AdmissionSettings } from '../../features/admission/create-admission.ts';
import type { GcPolicy } from '../../features/container-gc/gc-select.ts';
import type { CredentialProvider } from '../../features/images/credentials/provider-config.ts';
import type { NodeSettings } from '../../features/node/create-node.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';

/** The configuration, and the flags that are not part of it. */
export interface ComposeSettings {
  readonly config: KubeletConfig;
  readonly rootDir: string;
  /** Between two samples of the groups of containers. */
  readonly housekeeping?: { periodMs: number; longestMs: number };
  /** Whether manifests are accepted over HTTP. */
  readonly manifestServer: boolean;
  /** How many dead containers are kept. */
  readonly containerGc: GcPolicy;
  /** Beginnings of names of images that are never collected. */
  readonly pinnedImages?: readonly string[];
  /** Conditions and events of problems that the kernel logs. */
  readonly nodeProblems?: boolean;
  readonly credentialProviders: readonly CredentialProvider[];
  readonly credentialProviderBinDir: string;
  readonly node?: NodeSettings;
  readonly admission?: AdmissionSettings;
}
