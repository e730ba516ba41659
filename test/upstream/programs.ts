// The programs of a cluster of one node: ours, and upstream's as replacements.
import path from 'node:path';

/** Parts of a cluster for which upstream has a program. */
export const parts = ['kube-scheduler', 'kube-controller-manager', 'kube-proxy', 'kubelet'] as const;
export type Part = (typeof parts)[number];

export interface Place {
  /** The folder with certificates, kubeconfigs and the store of the control plane. */
  readonly dataDir: string;
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly podRange: string;
  readonly serviceRange: string;
  readonly kubeletConfig: string;
}

export interface Program {
  readonly name: string;
  readonly argv: readonly string[];
}

const own = (name: string): string => path.join(import.meta.dirname, '../../bin', name);

/** The API server, with the controllers that run in upstream's API server. */
export function apiServer({ dataDir, nodeAddress, serviceRange }: Place, replaced: ReadonlySet<Part>): Program {
  return {
    name: 'control-plane',
    argv: [
      own('kubelet-control-plane'),
      `--data-dir=${dataDir}`,
      `--advertise-address=${nodeAddress}`,
      `--service-cluster-ip-range=${serviceRange}`,
      ...(replaced.has('kube-scheduler') ? ['--scheduler=false'] : []),
      ...(replaced.has('kube-controller-manager')
        ? ['--controllers=service-cidr-controller,flow-schema-status-controller']
        : []),
    ],
  };
}

/** All other programs; upstream's have kubeadm's flags, and defaults for all others. */
export function otherPrograms(place: Place, replaced: ReadonlySet<Part>): readonly Program[] {
  const found: Program[] = [];
  if (replaced.has('kube-scheduler')) found.push(upstreamScheduler(place));
  if (replaced.has('kube-controller-manager')) found.push(upstreamControllers(place));
  found.push(replaced.has('kube-proxy') ? upstreamProxy(place) : ownNetwork(place));
  found.push(kubelet(place, replaced.has('kubelet') ? 'kubelet' : own('kubelet')));
  return found;
}

const threeKubeconfigs = (file: string): readonly string[] => [
  `--kubeconfig=${file}`,
  `--authentication-kubeconfig=${file}`,
  `--authorization-kubeconfig=${file}`,
];

const upstreamScheduler = ({ dataDir }: Place): Program => ({
  name: 'kube-scheduler',
  argv: ['kube-scheduler', ...threeKubeconfigs(`${dataDir}/scheduler.conf`)],
});

const upstreamControllers = ({ dataDir }: Place): Program => ({
  name: 'kube-controller-manager',
  argv: [
    'kube-controller-manager',
    ...threeKubeconfigs(`${dataDir}/controller-manager.conf`),
    '--use-service-account-credentials=true',
    `--root-ca-file=${dataDir}/pki/ca.crt`,
    `--cluster-signing-cert-file=${dataDir}/pki/ca.crt`,
    `--cluster-signing-key-file=${dataDir}/pki/ca.key`,
    `--service-account-private-key-file=${dataDir}/pki/sa.key`,
  ],
});

const upstreamProxy = ({ dataDir, nodeName, podRange }: Place): Program => ({
  name: 'kube-proxy',
  argv: [
    'kube-proxy',
    `--kubeconfig=${dataDir}/admin.conf`,
    `--hostname-override=${nodeName}`,
    `--cluster-cidr=${podRange}`,
    // A namespace may not change the tables of connections of the machine.
    '--conntrack-max-per-core=0',
    '--conntrack-min=0',
    '--conntrack-tcp-timeout-established=0s',
    '--conntrack-tcp-timeout-close-wait=0s',
  ],
});

const ownNetwork = ({ dataDir, nodeName, podRange, serviceRange }: Place): Program => ({
  name: 'node-network',
  argv: [
    own('kubelet-node-network'),
    `--kubeconfig=${dataDir}/admin.conf`,
    `--node-name=${nodeName}`,
    `--pod-cidr=${podRange}`,
    `--service-cidr=${serviceRange}`,
  ],
});

const kubelet = ({ dataDir, nodeName, nodeAddress, kubeletConfig }: Place, program: string): Program => ({
  name: 'kubelet',
  argv: [
    program,
    `--kubeconfig=${dataDir}/admin.conf`,
    `--config=${kubeletConfig}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${nodeAddress}`,
  ],
});
