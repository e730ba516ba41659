/** The KubeletConfiguration that `up` hands to the agent. Pure. */
import { stringify } from 'yaml';
import { strongCipherSuites } from '../kubelet/adapters/tls/tls-settings.ts';
import type { Instance } from './instance.ts';
import type { CgroupDriver } from './runtime-config.ts';

export interface KubeletFacts {
  /** With scheme: `unix:///...`. */
  readonly runtimeEndpoint: string;
  /** Ports that were free when they were chosen. */
  readonly port: number;
  readonly healthzPort: number;
  /** A file naming real name servers; absent means the default. */
  readonly resolvConf?: string;
  /** cgroupfs unless given. */
  readonly cgroupDriver?: CgroupDriver;
  /** Absent: a standalone node. */
  readonly cluster?: ClusterFacts;
}

export interface ClusterFacts {
  /** The address at which the API server reaches the node; absent: the agent listens on all addresses. */
  readonly address?: string;
  /** The CA of accepted client certificates. */
  readonly clientCaFile: string;
  /**
   * The node requests its serving certificate from the cluster, which approves it. Otherwise the node signs its own.
   */
  readonly requestServingCertificate?: boolean;
  /** Empty: the cluster has no DNS service. */
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
}

/** A pod that forks endlessly reaches this limit long before the machine has no process ids left. */
const POD_PIDS = 4096;

/** Stricter than upstream's defaults, as benchmarks require of a node (CIS 4.2). */
const hardening = { seccompDefault: true, podPidsLimit: POD_PIDS, tlsCipherSuites: strongCipherSuites };

const standaloneAccess = {
  authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
};

/** As in kubeadm: clients are authenticated by certificate or by the API server, which also authorizes them. */
function clusterAccess({
  clientCaFile,
  requestServingCertificate = false,
  clusterDns,
  clusterDomain,
}: ClusterFacts): object {
  return {
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: clientCaFile } },
    authorization: { mode: 'Webhook' },
    rotateCertificates: true,
    ...(requestServingCertificate && { serverTLSBootstrap: true }),
    clusterDomain,
    ...(clusterDns.length > 0 && { clusterDNS: clusterDns }),
  };
}

/**
 * Upstream's defaults require 10 and 15 % of free disk space. This machine is often a workstation with a fuller disk;
 * pods are evicted before it is full.
 */
const evictionHard = {
  'memory.available': '100Mi',
  'nodefs.available': '5%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '5%',
  'imagefs.inodesFree': '5%',
};

/** Likewise: unused images are removed before pods are evicted, and not as soon as a workstation's disk is 85 % full. */
const imageCollection = { imageGCHighThresholdPercent: 92, imageGCLowThresholdPercent: 90 };
/** Images built here cannot be pulled again. */
export const PINNED_IMAGES = 'localhost/';

/**
 * The configuration is written out in full, so that users can read it. On a standalone node no client can authenticate
 * on the server's port (no client CA, no token review), as in upstream's standalone set-up. Swap is allowed, because
 * workstations have it.
 */
export function renderKubeletConfig(instance: Instance, facts: KubeletFacts): string {
  return stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath: facts.cluster === undefined ? instance.manifestsDir : instance.staticPodsDir,
    containerRuntimeEndpoint: facts.runtimeEndpoint,
    podLogsDir: instance.podLogsDir,
    cgroupRoot: instance.cgroupRoot,
    cgroupDriver: facts.cgroupDriver ?? 'cgroupfs',
    failCgroupV1: false,
    address: facts.cluster === undefined ? '127.0.0.1' : (facts.cluster.address ?? '0.0.0.0'),
    port: facts.port,
    healthzPort: facts.healthzPort,
    ...(facts.cluster !== undefined && { healthzBindAddress: instance.loopback }),
    ...(facts.cluster === undefined ? standaloneAccess : clusterAccess(facts.cluster)),
    ...hardening,
    failSwapOn: false,
    evictionHard,
    ...imageCollection,
    ...(facts.resolvConf === undefined ? {} : { resolvConf: facts.resolvConf }),
  });
}
