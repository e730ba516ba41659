import type {
  CrossVersionObjectReference,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
} from '../../autoscaling/horizontal-pod-autoscaler.ts';
import { metricSourceTypes } from '../../autoscaling/horizontal-pod-autoscaler.ts';
import { quantitySign } from '../../quantity.ts';
import type { FieldErrors } from '../field-error.ts';
import { checkDnsLabel, checkPathSegment } from '../names.ts';
import { validateLimitName } from '../resource-names.ts';

/** The metric sources in upstream's order: only the first one is validated. */
const sources = ['object', 'external', 'pods', 'resource', 'containerResource'] as const;
type Source = (typeof sources)[number];

const sourceOf: Readonly<Record<(typeof metricSourceTypes)[number], Source>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
};

/** Upstream: validateMetricSpec. `checkReference` validates the object of a metric. */
export function validateMetricSpec(
  errors: FieldErrors,
  field: string,
  spec: MetricSpec,
  checkReference: (field: string, reference: CrossVersionObjectReference) => void,
): void {
  const type: string = spec.type;
  if (type === '') errors.required(`${field}.type`, 'must specify a metric source type');
  errors.oneOf(`${field}.type`, type, metricSourceTypes);
  const present = sources.filter((source) => spec[source] !== undefined);
  if (present[0] !== undefined) validateSource(errors, field, { spec, source: present[0], checkReference });
  const expected = metricSourceTypes.find((each) => each === type);
  const source = expected === undefined ? undefined : sourceOf[expected];
  if (source !== undefined && spec[source] === undefined)
    errors.required(`${field}.${source}`, 'must populate information for the given metric source');
  if (present.length !== 1)
    for (const other of present)
      if (other !== source) errors.forbidden(`${field}.${other}`, 'must populate the given metric source only');
}

interface Sourced {
  readonly spec: MetricSpec;
  readonly source: Source;
  readonly checkReference: (field: string, reference: CrossVersionObjectReference) => void;
}

function validateSource(errors: FieldErrors, metric: string, { spec, source, checkReference }: Sourced): void {
  const field = `${metric}.${source}`;
  const { object, external, pods, resource, containerResource } = spec;
  if (source === 'object' && object !== undefined) {
    checkReference(`${field}.describedObject`, object.describedObject);
    validateIdentifier(errors, field, object.metric);
    validateTarget(errors, field, object.target);
    if (object.target.value === undefined && object.target.averageValue === undefined)
      errors.required(`${field}.target.averageValue`, 'must set either a target value or averageValue');
  } else if (source === 'external' && external !== undefined) {
    validateIdentifier(errors, field, external.metric);
    validateTarget(errors, field, external.target);
    validateOneValue(errors, field, external.target);
  } else if (source === 'pods' && pods !== undefined) {
    validateIdentifier(errors, field, pods.metric);
    validateTarget(errors, field, pods.target);
    if (pods.target.averageValue === undefined)
      errors.required(`${field}.target.averageValue`, 'must specify a positive target averageValue');
  } else if (source === 'resource' && resource !== undefined) {
    if (resource.name === '') errors.required(`${field}.name`, 'must specify a resource name');
    validateResourceTarget(errors, field, resource.target);
  } else if (containerResource !== undefined) {
    const { name, container, target } = containerResource;
    if (name === '') errors.required(`${field}.name`, 'must specify a resource name');
    else validateLimitName(errors, `${field}.name`, name, 'Container');
    if (container === '') errors.required(`${field}.container`, 'must specify a container');
    else errors.invalidEach(`${field}.container`, container, checkDnsLabel(container));
    validateResourceTarget(errors, field, target);
  }
}

function validateOneValue(errors: FieldErrors, field: string, { value, averageValue }: MetricTarget): void {
  if (value === undefined && averageValue === undefined)
    errors.required(`${field}.target.averageValue`, 'must set either a target value for metric or a per-pod target');
  if (value !== undefined && averageValue !== undefined)
    errors.forbidden(`${field}.target.value`, 'may not set both a target value for metric and a per-pod target');
}

function validateResourceTarget(errors: FieldErrors, field: string, target: MetricTarget): void {
  validateTarget(errors, field, target);
  const { averageUtilization, averageValue } = target;
  if (averageUtilization === undefined && averageValue === undefined)
    errors.required(`${field}.target.averageUtilization`, 'must set either a target raw value or a target utilization');
  if (averageUtilization !== undefined && averageValue !== undefined)
    errors.forbidden(`${field}.target.averageValue`, 'may not set both a target raw value and a target utilization');
}

function validateTarget(errors: FieldErrors, source: string, target: MetricTarget): void {
  const field = `${source}.target`;
  const type: string = target.type;
  if (type === '') errors.required(`${field}.type`, 'must specify a metric target type');
  if (!['Utilization', 'Value', 'AverageValue'].includes(type))
    errors.invalid(`${field}.type`, type, 'must be either Utilization, Value, or AverageValue');
  for (const name of ['value', 'averageValue'] as const) {
    const amount = target[name];
    if (amount !== undefined && quantitySign(amount) !== 1)
      errors.invalid(`${field}.${name}`, amount, 'must be positive');
  }
  if (target.averageUtilization !== undefined && target.averageUtilization < 1)
    errors.invalid(`${field}.averageUtilization`, target.averageUtilization, 'must be greater than 0');
}

function validateIdentifier(errors: FieldErrors, source: string, { name }: MetricIdentifier): void {
  const field = `${source}.metric.name`;
  if (name === '') errors.required(field, 'must specify a metric name');
  else errors.invalidEach(field, name, checkPathSegment(name));
}
