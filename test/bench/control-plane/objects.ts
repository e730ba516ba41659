/** What the bench writes. */

const NAMESPACE = 'default';

/** Seven lines of configuration: about 300 bytes as JSON, as small objects are. */
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

export interface PodOrder {
  /** A name that no scheduler has leaves the pod unscheduled. */
  readonly schedulerName: string;
  /** Every tenth pod is of the group `few`. */
  readonly number: number;
}

/** As a Deployment's template makes them. */
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
