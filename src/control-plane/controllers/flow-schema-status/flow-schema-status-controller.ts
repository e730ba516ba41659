import { flowSchemas, priorityLevelConfigurations } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { createQueueController } from '../../controller-runtime/queue-controller.ts';
import { planDanglingStatus } from './plan-dangling-status.ts';

/** Keeps the condition of flow schemas whose priority level does not exist (upstream: flowcontrol/apf_controller.go). */
export function createFlowSchemaStatusController(options: ControllerOptions): Controller {
  const { client, informers, clock } = options;
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
  return createQueueController(options, {
    name: 'flow schema status',
    workers: 1,
    syncer: { sync },
    informers: [schemas, levels],
    follow: (add) => {
      const addUsers = (level: string): void => {
        for (const { metadata, spec } of schemas.list())
          if (spec.priorityLevelConfiguration.name === level) add(metadata.name);
      };
      return [
        schemas.addHandlers({
          onAdd: ({ metadata }) => add(metadata.name),
          onUpdate: (_before, { metadata }) => add(metadata.name),
        }),
        levels.addHandlers({
          onAdd: ({ metadata }) => addUsers(metadata.name),
          onDelete: ({ metadata }) => addUsers(metadata.name),
        }),
      ];
    },
  });
}
