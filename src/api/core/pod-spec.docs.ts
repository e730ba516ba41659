import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  HostAliasSchema,
  PodDNSConfigOptionSchema,
  PodDNSConfigSchema,
  PodReadinessGateSchema,
  PodOSSchema,
  PodSchedulingGateSchema,
  PodResourceClaimSchema,
  PodSchedulingGroupSchema,
  PodSpecSchema,
} from './pod-spec.ts';

export const docs: readonly TypeDocs[] = [
  describe(HostAliasSchema, 'An entry of the hosts file.', {
    ip: 'The IP address.',
    hostnames: 'The host names of the address.',
  }),
  describe(PodDNSConfigOptionSchema, 'An option of the DNS resolver.', {
    name: 'The name of the option.',
    value: 'The value of the option.',
  }),
  describe(PodDNSConfigSchema, 'The DNS settings of a pod.', {
    nameservers: 'Addresses of name servers, at most 3.',
    searches: 'Search domains.',
    options: 'Options of the resolver.',
  }),
  describe(PodReadinessGateSchema, 'A condition that must be True for the pod to be ready.', {
    conditionType: 'The type of the condition.',
  }),
  describe(PodOSSchema, 'The operating system of the containers.', {
    name: 'linux or windows.',
  }),
  describe(PodSchedulingGateSchema, 'Keeps a pod from being scheduled until the gate is removed.', {
    name: 'The name of the gate.',
  }),
  describe(PodResourceClaimSchema, 'A ResourceClaim that a pod uses.', {
    name: 'The name by which containers refer to the claim.',
    resourceClaimName: 'The ResourceClaim. Not together with resourceClaimTemplateName.',
    resourceClaimTemplateName: 'The template from which a claim is created for the pod.',
  }),
  describe(PodSchedulingGroupSchema, 'The group of pods with which a pod is scheduled.', {
    podGroupName: 'The name of the PodGroup, in the namespace of the pod.',
  }),
  describe(PodSpecSchema, 'The desired state of a pod.', {
    volumes: 'The volumes that containers can mount.',
    initContainers: 'Containers that run one after another, each to completion, before the other containers start.',
    containers: 'The containers; at least one is required.',
    ephemeralContainers:
      'Containers that were added to the running pod for debugging. Set through the subresource ephemeralcontainers only.',
    restartPolicy: 'Whether ended containers are restarted: Always, OnFailure or Never. Default Always.',
    terminationGracePeriodSeconds:
      'The time between the stop signal and the kill of the containers, in seconds. Default 30.',
    activeDeadlineSeconds:
      'How long the pod may be active on the node, in seconds, before it fails. Default: no limit.',
    dnsPolicy:
      'The DNS settings of the containers: ClusterFirst, ClusterFirstWithHostNet, Default (those of the node) or None. Default ClusterFirst.',
    nodeSelector: 'Labels that the node must have.',
    serviceAccountName: 'The service account with which the pod accesses the API. Default default.',
    serviceAccount: 'Deprecated: use serviceAccountName.',
    automountServiceAccountToken: 'Whether a token of the service account is mounted. Default true.',
    nodeName: 'The node on which the pod runs; empty until it is scheduled.',
    hostNetwork: 'Whether the pod uses the network of the node. Default false.',
    hostPID: 'Whether the pod uses the process namespace of the node. Default false.',
    hostIPC: 'Whether the pod uses the IPC namespace of the node. Default false.',
    shareProcessNamespace: 'Whether the containers share one process namespace. Default false.',
    securityContext: 'Security settings of all containers.',
    imagePullSecrets: 'Secrets with credentials for image registries.',
    hostname: 'The host name of the pod. Default: the name of the pod.',
    subdomain: 'The subdomain: the full host name is hostname.subdomain.namespace.svc.DOMAIN. Default: none.',
    affinity: 'Rules that require, prefer or avoid certain nodes and other pods for scheduling.',
    schedulerName: 'The scheduler of the pod. Default default-scheduler.',
    tolerations: 'The taints that the pod tolerates.',
    hostAliases: 'Additional entries of the hosts file.',
    priorityClassName: 'The PriorityClass that determines the priority.',
    priority:
      'The priority. Pods with a higher value are scheduled first and can preempt others. Set from priorityClassName.',
    dnsConfig: 'DNS settings that are added to those of dnsPolicy.',
    readinessGates: 'Additional conditions that must be True for the pod to be ready.',
    runtimeClassName: 'The RuntimeClass with which the containers run. Default: the default handler.',
    enableServiceLinks: 'Whether environment variables for the services of the namespace are set. Default true.',
    preemptionPolicy:
      'PreemptLowerPriority or Never, which keeps the pod from preempting others. Default PreemptLowerPriority.',
    overhead: 'The resources that the pod needs in addition to its containers. Set from the RuntimeClass.',
    topologySpreadConstraints: 'How evenly matching pods are spread over topology domains such as zones and nodes.',
    setHostnameAsFQDN: 'Whether the full host name is set as host name. Default false.',
    os: 'The operating system of the containers.',
    hostUsers: 'Whether the pod uses the users of the node; false gives the pod its own user namespace. Default true.',
    schedulingGates: 'The pod is not scheduled while the list has entries.',
    resourceClaims: 'The ResourceClaims that the pod uses.',
    resources: 'The resources that all containers together request and may use at most.',
    hostnameOverride: 'The host name of the pod, replacing the one from hostname and subdomain.',
    schedulingGroup: 'The group of pods with which the pod is scheduled.',
  }),
];
