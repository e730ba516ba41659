import type { AdmissionSettings } from '../../features/admission/create-admission.ts';
import type { GcPolicy } from '../../features/container-gc/gc-select.ts';
import type { CredentialProvider } from '../../features/images/credentials/provider-config.ts';
import type { NodeSettings } from '../../features/node/create-node.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';

/** The configuration, and the flags that are not part of it. */
export interface ComposeSettings {
  readonly config: KubeletConfig;
  readonly rootDir: string;
  /** The interval between two samples of the containers' cgroups. */
  readonly housekeeping?: { periodMs: number; longestMs: number };
  /** Whether manifests are accepted over HTTP. */
  readonly manifestServer: boolean;
  /** The limits of dead containers. */
  readonly containerGc: GcPolicy;
  /** Prefixes of names of images that are never collected. */
  readonly pinnedImages?: readonly string[];
  /** Whether problems that the kernel logs become conditions and events. */
  readonly nodeProblems?: boolean;
  readonly credentialProviders: readonly CredentialProvider[];
  readonly credentialProviderBinDir: string;
  readonly node?: NodeSettings;
  readonly admission?: AdmissionSettings;
}
