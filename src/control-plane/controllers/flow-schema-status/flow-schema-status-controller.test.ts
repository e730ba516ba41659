import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { flowSchemas, priorityLevelConfigurations } from '../../../api/client/resource-types.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createFlowSchemaStatusController } from './flow-schema-status-controller.ts';

it('the status of a flow schema follows its priority level, and is written only when it changes', async () => {
  const world = new ControllerWorld({ make: (options) => [createFlowSchemaStatusController(options)] });
  const meta = (name: string) => ({ name, namespace: '', uid: name });
  world.api.seed(flowSchemas, {
    metadata: meta('s'),
    spec: { priorityLevelConfiguration: { name: 'gold' }, matchingPrecedence: 5, rules: [] },
  });
  world.start();
  await world.run(1_000);
  const shown = () => {
    const { metadata, status } = world.api.peek(flowSchemas, { namespace: '', name: 's' }) ?? {};
    const [{ type, status: value, reason, message } = { type: '', status: '', reason: '', message: '' }] =
      status?.conditions ?? [];
    return { version: metadata?.resourceVersion, said: [type, value, reason, message] };
  };
  const level = 'This FlowSchema references the PriorityLevelConfiguration object named "gold"';
  assert.deepEqual(shown().said, ['Dangling', 'True', 'NotFound', `${level} but there is no such object`]);
  world.api.seed(priorityLevelConfigurations, { metadata: meta('gold'), spec: { type: 'Exempt' } });
  await world.run(1_000);
  const found = shown();
  assert.deepEqual(found.said, ['Dangling', 'False', 'Found', `${level} and it exists`]);
  world.api.change(priorityLevelConfigurations, { namespace: '', name: 'gold' }, (before) => ({ ...before }));
  await world.run(60_000);
  assert.deepEqual(shown(), found);
  await world.stop();
});

it('says of every flow schema whether its level exists, killed at any write and shown everything late', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ schema: fc.nat(2), level: fc.nat(2), exists: fc.boolean(), tenths: fc.nat(12) }), {
        minLength: 1,
        maxLength: 10,
      }),
      fc.nat(1_000),
      async (steps, seed) => {
        const world = new ControllerWorld({
          make: (options) => [createFlowSchemaStatusController(options)],
          seed,
          lagMs: 600,
        });
        const key = (name: string) => ({ namespace: '', name });
        world.start();
        for (const { schema, level, exists, tenths } of steps) {
          world.restartAtWrite(1 + (tenths % 3));
          const spec = { priorityLevelConfiguration: { name: `l${level}` }, matchingPrecedence: 5, rules: [] };
          const { status } = world.api.peek(flowSchemas, key(`s${schema}`)) ?? {};
          world.api.seed(flowSchemas, {
            metadata: { ...key(`s${schema}`), uid: `s${schema}` },
            spec,
            ...(status !== undefined && { status }),
          });
          const known = world.api.peek(priorityLevelConfigurations, key(`l${level}`)) !== undefined;
          if (exists && !known)
            world.api.seed(priorityLevelConfigurations, {
              metadata: { ...key(`l${level}`), uid: `l${level}` },
              spec: { type: 'Exempt' },
            });
          if (!exists && known) world.api.remove(priorityLevelConfigurations, key(`l${level}`));
          await world.run(tenths * 100);
        }
        await world.run(120_000);
        const levels = new Set(world.api.all(priorityLevelConfigurations).map(({ metadata }) => metadata.name));
        for (const { metadata, spec, status } of world.api.all(flowSchemas))
          assert.equal(
            status?.conditions?.find(({ type }) => type === 'Dangling')?.status,
            levels.has(spec.priorityLevelConfiguration.name) ? 'False' : 'True',
            metadata.name,
          );
        await world.stop();
      },
    ),
    { numRuns: 10 },
  ));
