import { Buffer } from 'node:buffer';
import { parseAddressRange } from '../../resources/core/service/address-range.ts';
import type { ClusterFacts } from './cluster-facts.ts';

const hostPort = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;

/**
 * Returns `kubeconfig` of kube-public/cluster-info: one cluster without a name, and no credentials. It is written as
 * text, because its signature covers the exact bytes.
 */
export function clusterInfo({ advertiseAddress, securePort, authority }: ClusterFacts): string {
  return [
    'apiVersion: v1',
    'clusters:',
    '- cluster:',
    `    certificate-authority-data: ${Buffer.from(authority).toString('base64')}`,
    `    server: https://${hostPort(advertiseAddress, securePort)}`,
    '  name: ""',
    'contexts: null',
    'current-context: ""',
    'kind: Config',
    'preferences: {}',
    'users: null',
    '',
  ].join('\n');
}

/** Returns `ClusterConfiguration` of kube-system/kubeadm-config, in the version that kubeadm 1.31 to 1.36 reads. */
export function clusterConfiguration({ advertiseAddress, securePort, serviceCidrs, version }: ClusterFacts): string {
  return [
    'apiVersion: kubeadm.k8s.io/v1beta4',
    'certificatesDir: /etc/kubernetes/pki',
    'clusterName: kubernetes',
    `controlPlaneEndpoint: "${hostPort(advertiseAddress, securePort)}"`,
    'imageRepository: registry.k8s.io',
    'kind: ClusterConfiguration',
    `kubernetesVersion: ${version.split('+', 1)[0] ?? ''}`,
    'networking:',
    '  dnsDomain: cluster.local',
    `  serviceSubnet: ${serviceCidrs.join(',')}`,
    '',
  ].join('\n');
}

/** Returns `kubelet` of kube-system/kubelet-config: the configuration for joining nodes, with kubeadm's settings. */
export function joiningKubeletConfiguration({ serviceCidrs }: ClusterFacts): string {
  const dns = serviceCidrs.map((cidr) => `- "${tenth(cidr)}"`);
  return [
    'apiVersion: kubelet.config.k8s.io/v1beta1',
    'authentication:',
    '  anonymous:',
    '    enabled: false',
    '  webhook:',
    '    enabled: true',
    '  x509:',
    '    clientCAFile: /etc/kubernetes/pki/ca.crt',
    'authorization:',
    '  mode: Webhook',
    'cgroupDriver: systemd',
    'clusterDNS:',
    ...dns,
    'clusterDomain: cluster.local',
    'healthzBindAddress: 127.0.0.1',
    'healthzPort: 10248',
    'kind: KubeletConfiguration',
    'rotateCertificates: true',
    'staticPodPath: /etc/kubernetes/manifests',
    '',
  ].join('\n');
}

/** Returns the DNS address of kubeadm's clusters. */
const tenth = (cidr: string): string => parseAddressRange(cidr).at(9);
