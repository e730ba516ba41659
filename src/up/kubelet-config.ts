/** The KubeletConfiguration that `up` hands to the agent. Pure. */
import { stringify } from 'yaml';
import type { Instance } from './instance.ts';
import type { CgroupDriver } from './runtime-config.ts';

export interface KubeletFacts {
  /** With scheme: `unix:///...`. */
  runtimeEndpoint: string;
  /** Ports that were free just now. */
  port: number;
  healthzPort: number;
  /** A file naming real name servers; absent means the default. */
  resolvConf?: string;
  /** cgroupfs unless given. */
  cgroupDriver?: CgroupDriver;
}

/**
 * Everything a person would want to read is written out. Nobody can authenticate on the server's port (no client CA, no
 * token review): upstream's closed standalone set-up. Image collection is off, because images built here cannot be pulled again.
 */
export function renderKubeletConfig(instance: Instance, facts: KubeletFacts): string {
  return stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath: instance.manifestsDir,
    containerRuntimeEndpoint: facts.runtimeEndpoint,
    podLogsDir: instance.podLogsDir,
    cgroupRoot: instance.cgroupRoot,
    cgroupDriver: facts.cgroupDriver ?? 'cgroupfs',
    failCgroupV1: false,
    failSwapOn: false,
    address: '127.0.0.1',
    port: facts.port,
    healthzPort: facts.healthzPort,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    imageGCHighThresholdPercent: 100,
    ...(facts.resolvConf === undefined ? {} : { resolvConf: facts.resolvConf }),
  });
}
