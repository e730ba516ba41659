import { flowSchemas, priorityLevelConfigurations } from '../../../api/client/resource-types.ts';
import type { FlowSchema } from '../../../api/flowcontrol/flow-schema.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { planDanglingStatus } from './plan-dangling-status.ts';

/** Shows in the status of flow schemas whether their priority level exists (upstream: flowcontrol/apf_controller.go). */
export function createFlowSchemaStatusController({ client, informers, clock, log }: ControllerOptions): Controller {
  const schemas = informers.for(flowSchemas);
  const levels = informers.for(priorityLevelConfigurations);
  const sync = async (name: string): Promise<void> => {
    const schema = schemas.get({ namespace: '', name });
    if (schema === undefined) return;
    const level = schema.spec.priorityLevelConfiguration.name;
    const status = planDanglingStatus(schema, levels.get({ namespace: '', name: level }) !== undefined, clock.nowMs());
    if (status === undefined) return;
    try {
      await client.update(flowSchemas, { ...schema, status }, { subresource: 'status' });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  };
  const queue = new RateLimitingQueue({ name: 'flow-schema-status', clock, log, workers: 1, sync });
  const wake = ({ metadata }: FlowSchema): void => queue.add(metadata.name);
  const wakeUsers = (level: string): void => {
    for (const schema of schemas.list()) if (schema.spec.priorityLevelConfiguration.name === level) wake(schema);
  };
  const ends = [
    schemas.addHandlers({ onAdd: wake, onUpdate: (_before, after) => wake(after) }),
    levels.addHandlers({
      onAdd: ({ metadata }) => wakeUsers(metadata.name),
      onDelete: ({ metadata }) => wakeUsers(metadata.name),
    }),
  ];
  return runController({
    name: 'flow schema status controller',
    log,
    queues: [queue],
    informers: [schemas, levels],
    ends,
  });
}
