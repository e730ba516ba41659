/** The objects that the benchmark writes. */

const NAMESPACE = 'default';

/** Seven lines of configuration, about 300 bytes as JSON: the size of a small object. */
export function numberedConfigMap(name: string, namespace: string = NAMESPACE): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { app: 'bench' } },
    data: {
      'server.conf': 'listen 80\nworkers 4\nlog warn\nroot /srv/www\nindex index.html\ncache 10m\ntimeout 30s\n',
      mode: 'production',
    },
  };
}

/** A custom object of the same length; the kind is `SAMPLE_DEFINITION`. */
export function numberedSample(name: string, namespace: string = NAMESPACE): object {
  const { data, metadata } = numberedConfigMap(name, namespace) as { readonly data: object; readonly metadata: object };
  return { apiVersion: 'bench.example.com/v1', kind: 'Sample', metadata, spec: data };
}

export interface PodOrder {
  /** A scheduler that does not exist leaves the pod unscheduled. */
  readonly schedulerName: string;
  /** Every tenth pod belongs to the group `few`. */
  readonly number: number;
}

/** A pod as a Deployment creates it. */
export function numberedPod(name: string, { schedulerName, number }: PodOrder): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: { app: 'web', group: number % 10 === 0 ? 'few' : 'many', 'pod-template-hash': '7c5ddbdf54' },
    },
    spec: {
      schedulerName,
      containers: [
        {
          name: 'web',
          image: 'nginx:1.27',
          ports: [{ name: 'http', containerPort: 80 }],
          env: [{ name: 'MODE', value: 'production' }],
          resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '128Mi' } },
          readinessProbe: { httpGet: { path: '/healthz', port: 'http' } },
        },
      ],
    },
  };
}

/** One Deployment, a hundred of them, or a hundred each of StatefulSets, Jobs and DaemonSets. */
export type WorkloadShape = 'one' | 'hundred' | 'mixed';

interface Creation {
  readonly path: string;
  readonly body: object;
}

const SETS = 100;
/** The share of the DaemonSet's pods among those of a StatefulSet, a Job and a DaemonSet. */
const DAEMON_SHARE = 0.2;

/** Sets with this number of pods in total; the nodes are those of `bin/fake-nodes`. */
export function workload(shape: WorkloadShape, namespace: string, pods: number, nodes: number): Creation[] {
  const each = pods / SETS;
  if (shape === 'one') return [deployment(namespace, 'web', pods)];
  if (shape === 'hundred')
    return Array.from({ length: SETS }, (_, index) => deployment(namespace, `web-${index}`, each));
  const daemons = Math.round(each * DAEMON_SHARE);
  const half = (each - daemons) / 2;
  return Array.from({ length: SETS }, (_, index) => [
    statefulSet(namespace, index, Math.ceil(half)),
    job(namespace, index, Math.floor(half)),
    daemonSet(
      namespace,
      index,
      Array.from({ length: daemons }, (__, on) => `fake-${(index * daemons + on) % nodes}`),
    ),
  ]).flat();
}

const podSpec = (more: object = {}): object => ({
  containers: [
    {
      name: 'web',
      image: 'nginx:1.27',
      ports: [{ name: 'http', containerPort: 80 }],
      env: [{ name: 'MODE', value: 'production' }],
      resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '128Mi' } },
    },
  ],
  ...more,
});

const selecting = (app: string, spec: object): object => ({
  selector: { matchLabels: { app } },
  template: { metadata: { labels: { app } }, spec },
});

const appsPath = (namespace: string, plural: string): string => `/apis/apps/v1/namespaces/${namespace}/${plural}`;

function deployment(namespace: string, name: string, replicas: number): Creation {
  return {
    path: appsPath(namespace, 'deployments'),
    body: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: { replicas, ...selecting(name, podSpec()) },
    },
  };
}

/** Every second one creates its pods one after the other. */
function statefulSet(namespace: string, index: number, replicas: number): Creation {
  const name = `stateful-${index}`;
  const podManagementPolicy = index % 2 === 0 ? 'OrderedReady' : 'Parallel';
  return {
    path: appsPath(namespace, 'statefulsets'),
    body: {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name, namespace },
      spec: { serviceName: 'none', replicas, podManagementPolicy, ...selecting(name, podSpec()) },
    },
  };
}

function job(namespace: string, index: number, pods: number): Creation {
  return {
    path: `/apis/batch/v1/namespaces/${namespace}/jobs`,
    body: {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: `job-${index}`, namespace },
      spec: { parallelism: pods, completions: pods, template: { spec: podSpec({ restartPolicy: 'Never' }) } },
    },
  };
}

function daemonSet(namespace: string, index: number, nodeNames: readonly string[]): Creation {
  const name = `daemon-${index}`;
  const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: nodeNames }];
  const nodeAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
  };
  return {
    path: appsPath(namespace, 'daemonsets'),
    body: {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name, namespace },
      spec: selecting(name, podSpec({ affinity: { nodeAffinity } })),
    },
  };
}
