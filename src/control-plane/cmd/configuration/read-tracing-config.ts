import { KubeletError } from '../../../base/errors.ts';
import { isRecord } from '../../../base/json-record.ts';
import { readYamlFile } from './read-yaml-file.ts';

export interface TracingConfig {
  readonly endpoint: string | undefined;
  readonly samplingRatePerMillion: number;
}

const versions = new Set(['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`));
const schemes = ['dns', 'unix', 'unix-abstract'];

/** A TracingConfiguration (upstream: server/options/tracing.go, component-base tracing/api/v1). Throws `Invalid`. */
export async function readTracingConfig(file: string): Promise<TracingConfig> {
  const found = parseTracingConfig(await readYamlFile('tracing-config-file', file, 'refused'));
  if (typeof found !== 'string') return found;
  throw new KubeletError('Invalid', `--tracing-config-file ${file}: ${found}`);
}

/** A string is the error. */
export function parseTracingConfig(value: unknown): TracingConfig | string {
  if (!isRecord(value)) return 'it is not an object';
  const { apiVersion, kind, endpoint, samplingRatePerMillion: rate = 0, ...others } = value;
  if (kind !== 'TracingConfiguration' || typeof apiVersion !== 'string' || !versions.has(apiVersion))
    return 'it is not a TracingConfiguration of apiserver.config.k8s.io/v1';
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `unknown field ${JSON.stringify(unknown)}`;
  if (typeof rate !== 'number' || !Number.isInteger(rate)) return 'samplingRatePerMillion: expected a whole number';
  if (rate < 0) return `samplingRatePerMillion: Invalid value: ${rate}: sampling rate must be positive`;
  if (rate > 1_000_000)
    return `samplingRatePerMillion: Invalid value: ${rate}: sampling rate per million must be less than or equal to one million`;
  if (endpoint === undefined) return { endpoint: undefined, samplingRatePerMillion: rate };
  if (typeof endpoint !== 'string') return 'endpoint: expected a string';
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(endpoint)?.[1];
  if (scheme !== undefined && !schemes.includes(scheme))
    return `endpoint: Invalid value: ${JSON.stringify(endpoint)}: unsupported scheme: ${scheme}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`;
  return { endpoint, samplingRatePerMillion: rate };
}
