import type { FlowSchema } from '../flowcontrol/flow-schema.ts';
import type { PriorityLevelConfiguration, QueuingConfiguration } from '../flowcontrol/priority-level-configuration.ts';

/** A copy with the defaults that the API server sets. */
export function defaultFlowSchema(schema: FlowSchema): FlowSchema {
  return schema.spec.matchingPrecedence === 0
    ? { ...schema, spec: { ...schema.spec, matchingPrecedence: 1000 } }
    : schema;
}

/** A copy with the defaults that the API server sets. */
export function defaultPriorityLevel(level: PriorityLevelConfiguration): PriorityLevelConfiguration {
  const { exempt, limited } = level.spec;
  if (exempt === undefined && limited === undefined) return level;
  const spec = { ...level.spec };
  if (exempt !== undefined)
    spec.exempt = {
      ...exempt,
      nominalConcurrencyShares: exempt.nominalConcurrencyShares ?? 0,
      lendablePercent: exempt.lendablePercent ?? 0,
    };
  if (limited !== undefined) {
    const { queuing } = limited.limitResponse;
    spec.limited = {
      ...limited,
      nominalConcurrencyShares: limited.nominalConcurrencyShares ?? 30,
      lendablePercent: limited.lendablePercent ?? 0,
      limitResponse: {
        ...limited.limitResponse,
        ...(queuing !== undefined && { queuing: defaultQueuing(queuing) }),
      },
    };
  }
  return { ...level, spec };
}

const defaultQueuing = ({ queues, handSize, queueLengthLimit }: QueuingConfiguration): QueuingConfiguration => ({
  queues: queues === 0 ? 64 : queues,
  handSize: handSize === 0 ? 8 : handSize,
  queueLengthLimit: queueLengthLimit === 0 ? 50 : queueLengthLimit,
});
