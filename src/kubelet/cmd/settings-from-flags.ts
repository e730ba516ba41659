import type { CredentialProvider } from '../features/images/credentials/provider-config.ts';
import type { KubeletConfig } from '../model/config/kubelet-config.ts';
import type { ComposeSettings } from './compose/compose-settings.ts';
import type { AgentFlags } from './flags/flags-values-agent.ts';

/** Derives the settings of the agent's parts from its configuration and its flags. */
export function settingsFromFlags(
  config: KubeletConfig,
  flags: AgentFlags,
  read: { readonly manifestServer: boolean; readonly credentialProviders: readonly CredentialProvider[] },
): ComposeSettings {
  return {
    ...read,
    config,
    rootDir: flags.rootDir,
    housekeeping: { periodMs: flags.housekeepingPeriodMs, longestMs: flags.maxHousekeepingPeriodMs },
    containerGc: {
      minAgeMs: flags.minimumContainerTtlMs,
      maxPerContainer: flags.maxDeadContainersPerContainer,
      maxTotal: flags.maxDeadContainers,
    },
    pinnedImages: flags.pinnedImages,
    nodeProblems: flags.nodeProblemConditions,
    credentialProviderBinDir: flags.imageCredentialProviderBinDir,
    node: {
      labels: flags.nodeLabels,
      externalCloudProvider: flags.cloudProvider === 'external',
      nodeIps: flags.nodeIps,
      version: flags.reportedVersion,
      ignoreEviction: flags.allocatableIgnoresEviction,
    },
    admission:
      flags.admissionHooksDir === ''
        ? {}
        : {
            hooks: {
              folder: flags.admissionHooksDir,
              timeoutMs: flags.admissionHookTimeoutMs,
              onFailure: flags.admissionHookFailurePolicy,
            },
          },
  };
}
