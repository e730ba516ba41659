import { errorMessage } from '../../../base/errors.ts';
import type {
  CrossVersionObjectReference,
  MetricIdentifier,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import { ExternalMetricValueListSchema, MetricValueListSchema } from '../../../api/metrics/custom-metrics.ts';
import type { MetricValue } from '../../../api/metrics/custom-metrics.ts';
import { quantityMillis } from '../../../api/quantity.ts';
import { decode } from '../../../api/schema/decode.ts';
import { formatLabelSelector, requirementsOf } from '../../../api/selectors.ts';
import { formatGroupResource } from '../../../api/status/api-status-error.ts';
import { parseTime } from '../../../api/time.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import type { MetricsSource, PodMetric } from './metrics-source.ts';
import { reading, readAnswer } from './read-answer.ts';
import { findScaleTypes } from './scale-target.ts';

const CUSTOM = 'custom.metrics.k8s.io';
const EXTERNAL = 'external.metrics.k8s.io';
const customVersions = ['v1beta2', 'v1beta1'];
const externalVersions = ['v1beta1'];
/** The window of a value without one (upstream: metricServerDefaultMetricWindow). */
const USUAL_WINDOW_MS = 60_000;

interface Question {
  readonly group: typeof CUSTOM | typeof EXTERNAL;
  readonly version: string;
  /** Parts of the path below the version. */
  readonly parts: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/**
 * Reads custom and external metrics from the servers that administrators add (upstream: k8s.io/metrics custom_metrics
 * and external_metrics clients). `types` are the kinds to which references refer.
 */
export function createServedMetrics(
  others: OtherApis,
  types: () => readonly ResourceType[],
): Pick<MetricsSource, 'pods' | 'object' | 'external'> {
  const ask = ({ group, version, parts, query }: Question): Promise<unknown> => {
    const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString();
    const path = `/apis/${[group, version, ...parts].map(encodeURIComponent).join('/')}`;
    return others.get({ group, version }, asked === '' ? path : `${path}?${asked}`);
  };
  const askCustom = (parts: readonly string[], query: Question['query']): Promise<readonly MetricValue[]> =>
    named('custom', async () => {
      const version = others.versionOf(CUSTOM, customVersions);
      if (version === undefined) throw new Error(`no custom metrics API (${CUSTOM}) registered`);
      return readAnswer(
        MetricValueListSchema.name,
        decode(MetricValueListSchema, await ask({ group: CUSTOM, version, parts, query }), reading),
      ).items;
    });
  return {
    pods: async (namespace, labelSelector, metric) => {
      const parts = ['namespaces', namespace, 'pods', '*', metric.name];
      const items = await askCustom(parts, { labelSelector, metricLabelSelector: selectorOf(metric) });
      if (items.length === 0) throw new Error('no metrics returned from custom metrics API');
      return new Map(items.map((item) => [item.describedObject.name ?? '', podMetric(item)]));
    },
    object: async (namespace, reference, metric) => {
      const parts = [...partsOf(namespace, reference, types()), metric.name];
      const [item] = await askCustom(parts, { metricLabelSelector: selectorOf(metric) });
      if (item === undefined) throw new Error('no metrics returned from custom metrics API');
      return quantityMillis(item.value);
    },
    external: async (namespace, metric) => {
      const items = await named('external', async () => {
        const version = others.versionOf(EXTERNAL, externalVersions);
        if (version === undefined)
          throw new Error(`the server could not find the requested resource (get ${metric.name}.${EXTERNAL})`);
        const parts = ['namespaces', namespace, metric.name];
        const query = { labelSelector: selectorOf(metric) };
        return readAnswer(
          ExternalMetricValueListSchema.name,
          decode(ExternalMetricValueListSchema, await ask({ group: EXTERNAL, version, parts, query }), reading),
        ).items;
      });
      if (items.length === 0) throw new Error('no metrics returned from external metrics API');
      return items.map(({ value }) => quantityMillis(value));
    },
  };
}

async function named<T>(which: 'custom' | 'external', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`unable to fetch metrics from ${which} metrics API: ${errorMessage(error)}`, { cause: error });
  }
}

const selectorOf = ({ selector }: MetricIdentifier): string =>
  selector === undefined ? '' : formatLabelSelector(requirementsOf(selector));

function podMetric({ value, timestamp = '', windowSeconds }: MetricValue): PodMetric {
  return {
    milliValue: quantityMillis(value),
    atMs: parseTime(timestamp) ?? 0,
    windowMs: windowSeconds === undefined ? USUAL_WINDOW_MS : Number(windowSeconds) * 1000,
  };
}

/**
 * Returns the path of an object. A namespace is its own object; all other objects are in the autoscaler's namespace.
 */
function partsOf(
  namespace: string,
  reference: CrossVersionObjectReference,
  types: readonly ResourceType[],
): readonly string[] {
  const found = findScaleTypes(reference, types);
  if (typeof found === 'string') throw new Error(found);
  const [type] = found;
  if (type === undefined) throw new Error(`no matches for kind ${JSON.stringify(reference.kind)}`);
  return type.group === '' && type.kind === 'Namespace'
    ? ['namespaces', reference.name, 'metrics']
    : ['namespaces', namespace, formatGroupResource(type), reference.name];
}
