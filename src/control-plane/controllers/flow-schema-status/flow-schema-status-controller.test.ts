import assert from 'node:assert/strict';
import { it } from 'node:test';
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
