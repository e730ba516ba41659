/** A claim, and a pod on a node that runs a script with its volume at `/d`. */
export const claimAndKeeper = (node: string, script: string): object => ({
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'disk' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'keeper' },
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': node },
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'c',
            image: 'busybox',
            command: ['sh', '-c', script],
            volumeMounts: [{ name: 'd', mountPath: '/d' }],
          },
        ],
        volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'disk' } }],
      },
    },
  ],
});
