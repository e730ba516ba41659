/** Flags in older documentation that upstream has removed, each with its replacement. */
import { lookupTable } from '../../../base/lookup.ts';

const RUNTIME = 'it is a setting of the container runtime';
const DOCKERSHIM = '--container-runtime=docker runs Docker through the dockershim of this agent, see docs/docker.md';
const KUBECONFIG = 'the address and credentials of the API server are in the file of --kubeconfig';
const NEEDLESS = 'it can be left out';

export const removedFlags: Readonly<Record<string, string>> = lookupTable({
  'allow-privileged': 'Pod Security of the API server decides who may run privileged containers',
  'api-servers': KUBECONFIG,
  'auth-path': KUBECONFIG,
  'babysit-daemons': NEEDLESS,
  'bootstrap-checkpoint-path': 'the agent remembers the last known pods in --root-dir',
  'chaos-chance': NEEDLESS,
  'cloud-config': 'set it for the cloud controller manager; start the kubelet with --cloud-provider=external',
  'cni-cache-dir': RUNTIME,
  'configure-cbr0': 'a CNI plugin makes the bridge',
  'docker-exec-handler': DOCKERSHIM,
  'docker-root': DOCKERSHIM,
  'dynamic-config-dir': 'restart the agent with another file of --config',
  'enable-custom-metrics': 'Prometheus scrapes metrics from the pods themselves',
  'enable-debugging-flags': '--enable-debugging-handlers is its name',
  'experimental-bootstrap-kubeconfig': '--bootstrap-kubeconfig is its name',
  'experimental-dockershim': DOCKERSHIM,
  'image-pull-progress-deadline': RUNTIME,
  'keep-terminated-pod-volumes': 'volumes of ended pods are always unmounted',
  'low-diskspace-threshold-mb': '--eviction-hard=nodefs.available<SIZE replaces it',
  'master-service-namespace': 'the service of the API server is in the namespace default',
  'network-plugin-mtu': 'set it in the configuration of the CNI plugin',
  'network-plugin-dir': '--cni-conf-dir and --cni-bin-dir, with --container-runtime=docker, are its names',
  'non-masquerade-cidr': 'the CNI plugin, or ip-masq-agent, masquerades',
  'outofdisk-transition-frequency': '--eviction-pressure-transition-period replaces it',
  'really-crash-for-testing': NEEDLESS,
  'reconcile-cidr': 'the agent follows changes of spec.podCIDR of the node',
  'redirect-container-streaming': 'streams always pass through the agent',
  'register-schedulable': '--register-with-taints=node.kubernetes.io/unschedulable:NoSchedule replaces it',
  'require-kubeconfig': 'with --kubeconfig the agent uses the API server, without it there is none',
  'rkt-api-endpoint': 'rkt was discontinued in 2020; run its images on containerd or Docker',
  'rkt-path': 'rkt was discontinued in 2020; run its images on containerd or Docker',
  'rkt-stage1-image': 'rkt was discontinued in 2020; run its images on containerd or Docker',
  'seccomp-profile-root': 'profiles are in the folder seccomp of --root-dir',
});
