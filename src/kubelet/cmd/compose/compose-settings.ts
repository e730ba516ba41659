import type { AdmissionStep } from '../../features/admission/admission-step.ts';
import type { GcPolicy } from '../../features/container-gc/gc-select.ts';
import type { CredentialProvider } from '../../features/images/credentials/provider-config.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';

/** What the agent is told: the configuration, and what flags say beside it. */
export interface ComposeSettings {
  config: KubeletConfig;
  rootDir: string;
  /** Manifests may be handed in over HTTP. */
  manifestServer: boolean;
  /** How many dead containers are kept. */
  containerGc: GcPolicy;
  credentialProviders: readonly CredentialProvider[];
  credentialProviderBinDir: string;
  node?: NodeSettings;
  admission?: AdmissionSettings;
}

/** What the flags say of the node. */
export interface NodeSettings {
  labels: Readonly<Record<string, string>>;
  externalCloudProvider: boolean;
  /** None, one, or one of each family; `0.0.0.0` and `::` only choose a family. */
  nodeIps: readonly string[];
  /** The Kubernetes version it says it is. */
  version: string;
  /** --experimental-allocatable-ignore-eviction */
  ignoreEviction: boolean;
}

/** The operator's own conditions for starting pods. */
export interface AdmissionSettings {
  /** Of an embedder, in the order they are asked. */
  steps?: readonly AdmissionStep[];
  /** A folder of programs, asked after them. */
  hooks?: { folder: string; timeoutMs: number; onFailure: 'hold' | 'ignore' };
}
