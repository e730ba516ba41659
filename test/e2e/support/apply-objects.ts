// What the tests of `kubectl apply` and its like write.
export type Fields = Readonly<Record<string, unknown>>;
export const configMap = (data: Fields, metadata: Fields = { name: 'map' }): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });

interface Shape {
  readonly labels?: Fields;
  readonly replicas?: number;
  readonly containers: readonly Fields[];
}

const deployment = ({ labels = {}, replicas, containers }: Shape): string =>
  JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', labels },
    spec: {
      ...(replicas !== undefined && { replicas }),
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers } },
    },
  });
export const full = deployment({
  labels: { a: '1', gone: '2' },
  replicas: 2,
  containers: [
    {
      name: 'one',
      image: 'image:1',
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
      args: ['x', 'z'],
    },
    { name: 'two', image: 'image:1' },
  ],
});
export const less = deployment({
  labels: { a: '1' },
  containers: [{ name: 'one', image: 'image:2', env: [{ name: 'B', value: '3' }], args: ['z'] }],
});
