import type { ResourceType } from '../../../api/client/resource-type.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import { controlPlaneGates } from '../../model/control-plane-gates.ts';
import type { ControlPlaneGate } from '../../model/control-plane-gates.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';

/** The enabled optional parts of the API: `--feature-gates` and `--runtime-config`. */
export interface ApiChoice {
  readonly gates: ReadonlySet<ControlPlaneGate>;
  /** The settings by `GROUP/VERSION`, `GROUP/VERSION/RESOURCE`, `api/beta` or `api/all`. */
  readonly served: ReadonlyMap<string, boolean>;
}

/** `Name=true` items. Other gates of upstream cannot be switched, so they are refused. */
export function parseGates(items: readonly string[], errors: string[]): ReadonlySet<ControlPlaneGate> {
  const gates = new Set<ControlPlaneGate>();
  for (const item of items) {
    const { name, isOn } = readItem(item, '--feature-gates', errors);
    const gate = controlPlaneGates.find((each) => each === name);
    if (gate === undefined)
      errors.push(`--feature-gates: ${name} cannot be set; there are ${controlPlaneGates.join(', ')}`);
    else if (isOn) gates.add(gate);
    else gates.delete(gate);
  }
  return gates;
}

/** Upstream's special keys: all, stable, beta and alpha versions, and the core group. */
const wide = ['api/all', 'api/ga', 'api/beta', 'api/alpha', 'api/legacy'];
/** Group versions that contain kinds without a gate. */
const withStable = new Set(['api/ga', 'api/legacy']);

/**
 * Parses `KEY=true` items in upstream's forms. Only versions that are off by default can be switched. It is allowed to
 * turn on what is always on, but an error to turn it off.
 */
export function parseRuntimeConfig(
  items: readonly string[],
  definitions: readonly ResourceDefinition[],
  errors: string[],
): ReadonlyMap<string, boolean> {
  const optional = definitions.filter(isOptional).map(({ type }) => type);
  const known = new Set([...wide, ...optional.flatMap((type) => [apiVersionOf(type), resourceKey(type)])]);
  const always = new Set(
    definitions
      .filter((definition) => !isOptional(definition))
      .flatMap(({ type }) => [apiVersionOf(type), `api/${apiVersionOf(type)}`, resourceKey(type)]),
  );
  const served = new Map<string, boolean>();
  for (const item of items) {
    if (item === '') continue;
    const { name, isOn } = readItem(item, '--runtime-config', errors);
    const isStable = withStable.has(name) || (always.has(name) && !known.has(name));
    if (isStable && !isOn)
      errors.push(
        `--runtime-config: ${name} cannot be turned off: the controllers and the nodes of this program need it`,
      );
    else if (isStable || known.has(name)) served.set(name, isOn);
    else errors.push(`--runtime-config: ${name} cannot be set; there are ${[...known].join(', ')}`);
  }
  return served;
}

/**
 * Whether a kind is served. Kinds without a gate always are; others with their gate, by the most specific given key.
 */
export function isServed(definition: ResourceDefinition, { gates, served }: ApiChoice): boolean {
  const { gate, type, isAlpha } = definition;
  if (!isOptional(definition)) return true;
  const keys = [resourceKey(type), apiVersionOf(type), isAlpha === true ? 'api/alpha' : 'api/beta', 'api/all'];
  const isGated = gate === undefined || gates.has(gate);
  return isGated && (keys.map((key) => served.get(key)).find((value) => value !== undefined) ?? false);
}

const isOptional = ({ gate, isAlpha }: ResourceDefinition): boolean => gate !== undefined || isAlpha === true;

const resourceKey = (type: ResourceType): string => `${apiVersionOf(type)}/${type.plural}`;

function readItem(item: string, flag: string, errors: string[]): { name: string; isOn: boolean } {
  const [name = '', value = 'true'] = item.split('=', 2).map((part) => part.trim());
  if (value !== 'true' && value !== 'false') errors.push(`${flag}: ${name}=${value} is neither true nor false`);
  return { name, isOn: value === 'true' };
}
