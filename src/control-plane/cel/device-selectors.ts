import { memoizeText } from '../../base/memoize-text.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { Device, DeviceAttribute } from '../../api/resource/resource-slice.ts';
import type { Program } from '../../cel/compile.ts';
import { compileExpression } from '../../cel/compile.ts';
import { estimateCost } from '../../cel/cost/estimate-cost.ts';
import { bindings } from '../../cel/library/comprehensions.ts';
import { Semver } from '../../cel/library/semver.ts';
import type { CelType } from '../../cel/types.ts';
import { boolType, objectType } from '../../cel/types.ts';
import type { CelValue, LookupKey } from '../../cel/values.ts';
import { CelError, CelMap, EntryMap } from '../../cel/values.ts';
import { baseEnvironment } from './environment.ts';
import { QuantityValue, quantityType } from './quantity.ts';

/** The cost limit of a selector. It is estimated when the selector is written, and measured for each device. */
const COST_LIMIT = 1_000_000;
/** The limits of attributes and capacities of a device together, and of characters of a value. */
const MOST_ATTRIBUTES = 32;
const LONGEST_VALUE = 64;

const domainType: CelType = { kind: 'string', most: 63 };
const idType: CelType = { kind: 'string', most: 32 };
const byDomain = (value: CelType): CelType => ({
  kind: 'map',
  key: domainType,
  value: { kind: 'map', key: idType, value, most: MOST_ATTRIBUTES },
  most: MOST_ATTRIBUTES,
});

/** Upstream: dynamic-resource-allocation/cel/compile.go. */
const environment = baseEnvironment.withLibraries(bindings).withVariables({
  device: objectType('kubernetes.DRADevice', {
    driver: { kind: 'string', most: 63 },
    allowMultipleAllocations: boolType,
    attributes: byDomain({ kind: 'dyn', most: LONGEST_VALUE }),
    capacity: byDomain(quantityType),
  }),
});

/** Selects devices by an expression. */
export class DeviceExpression {
  readonly #program: Program;
  /** The results by device. Devices are immutable: a changed slice has new device objects. */
  readonly #known = new WeakMap<Device, boolean | string>();

  constructor(program: Program) {
    this.#program = program;
  }

  /** Whether the expression selects the device. A string is the error of the evaluation. */
  selects(device: Device, driver: string): boolean | string {
    const known = this.#known.get(device);
    if (known !== undefined) return known;
    const result = this.#judge(device, driver);
    this.#known.set(device, result);
    return result;
  }

  #judge(device: Device, driver: string): boolean | string {
    const value = deviceValue(device, driver);
    const { result } = this.#program.evaluate((name) => (name === 'device' ? value : undefined), COST_LIMIT);
    if (result === 'cost-exceeded') return 'operation cancelled: actual cost limit exceeded';
    if (result instanceof CelError) return result.message;
    return typeof result === 'boolean' ? result : 'the expression did not evaluate to bool';
  }
}

const CACHE_LIMIT = 500;
/** Compiles an expression. A string is the error. */
export const compileDeviceExpression = memoizeText(
  (source): DeviceExpression | { readonly fault: string } => {
    const program = compileDevice(source);
    return 'fault' in program ? program : new DeviceExpression(program);
  },
  { limit: CACHE_LIMIT },
);

function compileDevice(source: string): Program | { readonly fault: string } {
  const program = compileExpression(source, environment);
  if ('fault' in program) return { fault: `compilation failed: ${program.fault}` };
  const { kind } = program.type;
  if (kind === 'bool' || kind === 'dyn') return program;
  return { fault: `must evaluate to bool or the unknown type, not ${kind}` };
}

/** Returns the error of an expression that is to be stored. */
export function checkDeviceExpression(source: string): { readonly fault: string } | 'too-complex' | undefined {
  const program = compileDevice(source);
  if ('fault' in program) return program;
  return estimateCost(program.checked).max > COST_LIMIT ? 'too-complex' : undefined;
}

/** A map that returns an empty map for missing domains. */
class Domains extends CelMap {
  readonly #maps: EntryMap;

  constructor(maps: EntryMap) {
    super();
    this.#maps = maps;
  }

  get size(): number {
    return this.#maps.size;
  }

  get(key: LookupKey): CelValue {
    return this.#maps.get(key) ?? new EntryMap();
  }

  keys(): Iterable<CelValue> {
    return this.#maps.keys();
  }
}

function domainsOf(entries: Iterable<readonly [string, CelValue]>, driver: string): Domains {
  const domains = new EntryMap();
  for (const [name, value] of entries) {
    const slash = name.indexOf('/');
    const [domain, id] = slash < 0 ? [driver, name] : [name.slice(0, slash), name.slice(slash + 1)];
    const found = domains.get(domain);
    const map = found instanceof EntryMap ? found : new EntryMap();
    if (found === undefined) domains.add(domain, domain, map);
    map.add(id, id, value);
  }
  return new Domains(domains);
}

function attributeValue({ int, bool, string: text, version }: DeviceAttribute): CelValue {
  if (int !== undefined) return BigInt(int);
  if (bool !== undefined) return bool;
  if (text !== undefined) return text;
  return version === undefined ? null : (Semver.parse(version) ?? null);
}

function deviceValue(
  { attributes = {}, capacity = {}, allowMultipleAllocations = false }: Device,
  driver: string,
): CelMap {
  const amounts = Object.entries(capacity).map(
    ([name, { value }]) => [name, new QuantityValue(parseQuantity(value))] as const,
  );
  const values = Object.entries(attributes).map(([name, attribute]) => [name, attributeValue(attribute)] as const);
  const map = new EntryMap();
  const fields: readonly (readonly [string, CelValue])[] = [
    ['driver', driver],
    ['allowMultipleAllocations', allowMultipleAllocations],
    ['attributes', domainsOf(values, driver)],
    ['capacity', domainsOf(amounts, driver)],
  ];
  for (const [name, value] of fields) map.add(name, name, value);
  return map;
}
