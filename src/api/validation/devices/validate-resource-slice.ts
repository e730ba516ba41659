import type {
  Counter,
  Device,
  DeviceAttribute,
  ResourcePool,
  ResourceSlice,
  ResourceSliceSpec,
} from '../../resource/resource-slice.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { validateObjectMeta } from '../metadata.ts';
import { byteLength, checkDnsSubdomain } from '../names.ts';
import { validateNodeSelector } from '../pod/scheduling.ts';
import { validateDeviceCapacity } from './device-capacity.ts';
import {
  validateBindingConditions,
  validateDeviceTaint,
  validateDriverName,
  validateItems,
  validateLabelName,
  validatePoolName,
  validateQualifiedName,
  validateUnique,
} from './device-parts.ts';

const MAX_DEVICES = 128;
const MAX_DEVICES_WITH_TAINTS_OR_COUNTERS = 64;
const MAX_COUNTER_SETS = 8;
const MAX_COUNTERS = 32;
const MAX_CONSUMPTIONS = 2;
const MAX_ATTRIBUTES_AND_CAPACITIES = 32;
const MAX_ATTRIBUTE_VALUE_BYTES = 64;
const MAX_TAINTS = 16;

/** Upstream: apis/resource/validation ValidateResourceSlice. */
export function validateResourceSlice({ metadata, spec }: ResourceSlice): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  validateSpec(errors, spec, undefined);
  return errors.list;
}

export function validateResourceSliceUpdate(slice: ResourceSlice, old: ResourceSlice): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, slice.spec, old.spec);
  return errors.list;
}

function validateSpec(errors: FieldErrors, spec: ResourceSliceSpec, old: ResourceSliceSpec | undefined): void {
  validateDriverName(errors, 'spec.driver', spec.driver);
  validatePool(errors, 'spec.pool', spec.pool);
  if (old !== undefined) {
    validateImmutable(errors, 'spec.pool.name', spec.pool.name, old.pool.name);
    validateImmutable(errors, 'spec.driver', spec.driver, old.driver);
    validateImmutable(errors, 'spec.nodeName', spec.nodeName, old.nodeName);
  }
  validateNodes(errors, spec);
  const { devices = [], sharedCounters = [] } = spec;
  if (spec.sharedCounters !== undefined && spec.devices !== undefined)
    errors.invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed');
  const isAdvanced = devices.some(
    ({ taints = [], consumesCounters = [] }) => taints.length > 0 || consumesCounters.length > 0,
  );
  const max = isAdvanced ? MAX_DEVICES_WITH_TAINTS_OR_COUNTERS : MAX_DEVICES;
  const before = new Map((old?.devices ?? []).map((device) => [device.name, device]));
  validateItems(errors, 'spec.devices', devices, max, (device, path) =>
    validateDevice(errors, path, device, { spec, before: before.get(device.name) }),
  );
  if (devices.length <= max) validateUnique(errors, 'spec.devices', devices, ({ name }) => name);
  validateItems(errors, 'spec.sharedCounters', sharedCounters, MAX_COUNTER_SETS, ({ name, counters }, path) => {
    if (name === '') errors.required(`${path}.name`);
    else validateLabelName(errors, `${path}.name`, name);
    validateCounters(errors, `${path}.counters`, counters);
  });
  if (sharedCounters.length <= MAX_COUNTER_SETS)
    validateUnique(errors, 'spec.sharedCounters', sharedCounters, ({ name }) => name);
}

function validatePool(errors: FieldErrors, path: string, pool: ResourcePool): void {
  validatePoolName(errors, `${path}.name`, pool.name);
  if (pool.resourceSliceCount <= 0)
    errors.invalid(`${path}.resourceSliceCount`, pool.resourceSliceCount, 'must be greater than zero');
  if (pool.generation < 0)
    errors.invalid(`${path}.generation`, pool.generation, 'must be greater than or equal to zero');
}

const SOME_NODES = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
const UNSET_OR_TRUE = 'must be either unset or set to true';

function validateNodes(errors: FieldErrors, spec: ResourceSliceSpec): void {
  const { nodeName, nodeSelector } = spec;
  const set: string[] = [];
  if (nodeName === '') errors.invalid('spec.nodeName', nodeName, 'must be either unset or set to a non-empty string');
  else if (nodeName !== undefined) {
    set.push('`nodeName`');
    errors.invalidEach('spec.nodeName', nodeName, checkDnsSubdomain(nodeName));
  }
  if (nodeSelector !== undefined) {
    set.push('`nodeSelector`');
    validateNodeSelector(errors, 'spec.nodeSelector', nodeSelector);
    if (nodeSelector.nodeSelectorTerms.length !== 1)
      errors.invalid(
        'spec.nodeSelector.nodeSelectorTerms',
        nodeSelector.nodeSelectorTerms,
        'must have exactly one node selector term',
      );
  }
  for (const field of ['allNodes', 'perDeviceNodeSelection'] as const) {
    if (spec[field] === true) set.push(`\`${field}\``);
    else if (spec[field] === false) errors.invalid(`spec.${field}`, false, UNSET_OR_TRUE);
  }
  if (set.length === 0) errors.required('spec', SOME_NODES);
  else if (set.length > 1) errors.invalid('spec', `{${set.join(', ')}}`, `${SOME_NODES}, but multiple fields are set`);
}

interface DeviceContext {
  readonly spec: ResourceSliceSpec;
  /** The device of the same name before the update. */
  readonly before: Device | undefined;
}

function validateDevice(errors: FieldErrors, path: string, device: Device, { spec, before }: DeviceContext): void {
  validateLabelName(errors, `${path}.name`, device.name);
  validateProperties(errors, path, device);
  const { taints = [], consumesCounters = [] } = device;
  if (before === undefined || !semanticEqual(before.taints, device.taints))
    validateItems(errors, `${path}.taints`, taints, MAX_TAINTS, (taint, at) => validateDeviceTaint(errors, at, taint));
  validateItems(errors, `${path}.consumesCounters`, consumesCounters, MAX_CONSUMPTIONS, (use, at) => {
    if (use.counterSet === '') errors.required(`${at}.counterSet`);
    else validateLabelName(errors, `${at}.counterSet`, use.counterSet);
    validateCounters(errors, `${at}.counters`, use.counters);
  });
  if (consumesCounters.length <= MAX_CONSUMPTIONS)
    validateUnique(errors, `${path}.consumesCounters`, consumesCounters, ({ counterSet }) => counterSet);
  if (spec.perDeviceNodeSelection === true) validateDeviceNodes(errors, path, device);
  else if (device.nodeName !== undefined || device.nodeSelector !== undefined || device.allNodes !== undefined)
    errors.invalid(
      path,
      null,
      '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
    );
  validateBindingConditions(errors, path, device.bindingConditions ?? [], device.bindingFailureConditions ?? []);
}

function validateProperties(errors: FieldErrors, path: string, device: Device): void {
  const attributes = Object.entries(device.attributes ?? {});
  const capacities = Object.entries(device.capacity ?? {});
  const total = attributes.length + capacities.length;
  if (total > MAX_ATTRIBUTES_AND_CAPACITIES)
    errors.invalid(
      path,
      total,
      `the total number of attributes and capacities must not exceed ${MAX_ATTRIBUTES_AND_CAPACITIES}`,
    );
  for (const [name, attribute] of attributes) {
    validateQualifiedName(errors, `${path}.attributes`, name);
    validateAttribute(errors, `${path}.attributes[${name}]`, attribute);
  }
  for (const [name, capacity] of capacities) {
    validateQualifiedName(errors, `${path}.capacity`, name);
    validateDeviceCapacity(errors, `${path}.capacity[${name}]`, capacity, device.allowMultipleAllocations === true);
  }
}

const NUMBER = '(?:0|[1-9]\\d*)';
const PRE_RELEASE = `(?:${NUMBER}|\\d*[a-zA-Z-][0-9a-zA-Z-]*)`;
const semver = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${PRE_RELEASE}(?:\\.${PRE_RELEASE})*)?(?:\\+[0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*)?$`,
);

function validateAttribute(errors: FieldErrors, path: string, attribute: DeviceAttribute): void {
  const { string: text, version } = attribute;
  if (text !== undefined && byteLength(text) > MAX_ATTRIBUTE_VALUE_BYTES)
    errors.tooLong(`${path}.string`, MAX_ATTRIBUTE_VALUE_BYTES);
  if (version !== undefined) {
    const isLong = byteLength(version) > MAX_ATTRIBUTE_VALUE_BYTES;
    if (isLong || !semver.test(version))
      errors.invalid(`${path}.version`, version, 'must be a string compatible with semver.org spec 2.0.0');
    if (isLong) errors.tooLong(`${path}.version`, MAX_ATTRIBUTE_VALUE_BYTES);
  }
  const set = [attribute.int, attribute.bool, text, version].filter((value) => value !== undefined).length;
  if (set !== 1) errors.invalid(path, set === 0 ? '' : attribute, 'exactly one value must be specified');
}

function validateCounters(errors: FieldErrors, path: string, counters: Readonly<Record<string, Counter>> = {}): void {
  const names = Object.keys(counters);
  if (names.length === 0) return errors.required(path);
  if (names.length > MAX_COUNTERS) return errors.tooMany(path, names.length, MAX_COUNTERS);
  for (const name of names) validateLabelName(errors, path, name);
}

const DEVICE_NODES =
  'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';

function validateDeviceNodes(errors: FieldErrors, path: string, device: Device): void {
  const set: string[] = [];
  if (device.nodeName === '') errors.invalid(`${path}.nodeName`, '', 'must not be empty');
  else if (device.nodeName !== undefined) {
    set.push('`nodeName`');
    errors.invalidEach(`${path}.nodeName`, device.nodeName, checkDnsSubdomain(device.nodeName));
  }
  if (device.nodeSelector !== undefined) {
    set.push('`nodeSelector`');
    validateNodeSelector(errors, `${path}.nodeSelector`, device.nodeSelector);
  }
  if (device.allNodes === true) set.push('`allNodes`');
  else if (device.allNodes === false) errors.invalid(`${path}.allNodes`, false, UNSET_OR_TRUE);
  if (set.length === 0) errors.required(path, DEVICE_NODES);
  else if (set.length > 1) errors.invalid(path, `{${set.join(', ')}}`, DEVICE_NODES);
}
