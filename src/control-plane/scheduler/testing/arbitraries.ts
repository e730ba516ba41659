import fc from 'fast-check';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildNode, buildPod } from './builders.ts';

/** Generates small numbers, so that pods compete for resources often. */
export const nodeArb = (index: number): fc.Arbitrary<Node> =>
  fc
    .record({
      cpu: fc.integer({ min: 1, max: 4 }),
      zone: fc.constantFrom('one', 'two', undefined),
      tainted: fc.boolean(),
      cordoned: fc.constantFrom(false, false, false, true),
      pods: fc.integer({ min: 1, max: 5 }),
    })
    .map(({ cpu, zone, tainted, cordoned, pods }) =>
      buildNode(`n${index}`, {
        labels: zone === undefined ? {} : { zone },
        allocatable: { cpu: String(cpu), pods: String(pods) },
        taints: tainted ? [{ key: 'k', effect: 'NoSchedule' }] : [],
        spec: { unschedulable: cordoned },
      }),
    );
export const nodesArb = fc.tuple(nodeArb(0), nodeArb(1), nodeArb(2), nodeArb(3)).map((nodes) => [...nodes]);

const term = (app: string): object => ({ topologyKey: 'zone', labelSelector: { matchLabels: { app } } });
export const podArb = (index: number): fc.Arbitrary<Pod> =>
  fc
    .record({
      app: fc.constantFrom('a', 'b'),
      cpu: fc.constantFrom('0', '500m', '1', '2'),
      port: fc.constantFrom(undefined, undefined, 80, 81),
      tolerates: fc.boolean(),
      zone: fc.constantFrom(undefined, undefined, 'one', 'two'),
      affinity: fc.constantFrom(
        {},
        {},
        { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('a')] } },
        { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('b')] } },
      ),
      spread: fc.constantFrom(undefined, undefined, 1, 2),
      priority: fc.integer({ min: 0, max: 3 }),
    })
    .map(({ app, cpu, port, tolerates, zone, affinity, spread, priority }) =>
      buildPod(`p${index}`, {
        labels: { app },
        requests: { cpu },
        ...(port !== undefined && { hostPorts: [port] }),
        spec: {
          priority,
          affinity,
          ...(tolerates && { tolerations: [{ key: 'k', operator: 'Exists' }] }),
          ...(zone !== undefined && { nodeSelector: { zone } }),
          ...(spread !== undefined && {
            topologySpreadConstraints: [
              {
                maxSkew: spread,
                topologyKey: 'zone',
                whenUnsatisfiable: 'DoNotSchedule',
                labelSelector: { matchLabels: { app } },
              },
            ],
          }),
        },
      }),
    );
export const podsArb = fc
  .integer({ min: 1, max: 14 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => podArb(index))));
