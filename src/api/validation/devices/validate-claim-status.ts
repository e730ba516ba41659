import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
  ResourceClaimConsumerReference,
  ResourceClaimStatus,
} from '../../resource/resource-claim.ts';
import { deviceKey } from '../../resource/device-key.ts';
import { validateConditions } from '../conditions.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { byteLength, checkStrictCidr } from '../names.ts';
import { validateNodeSelector } from '../pod/scheduling.ts';
import {
  validateBindingConditions,
  validateDeviceConfiguration,
  validateDriverName,
  validateItems,
  validateLabelName,
  validatePoolName,
  validateRawObject,
  validateShareId,
  validateUnique,
} from './device-parts.ts';
import { RequestNames } from './request-names.ts';

const MAX_CONSUMERS = 256;
const MAX_RESULTS = 32;
const MAX_CONFIGURATIONS = 64;
const MAX_DEVICE_CONDITIONS = 8;
const MAX_DATA_BYTES = 10 * 1024;
const MAX_ADDRESSES = 16;
const MAX_INTERFACE_NAME_BYTES = 256;
const MAX_HARDWARE_ADDRESS_BYTES = 128;

/** Upstream: apis/resource/validation ValidateResourceClaimStatusUpdate. */
export function validateResourceClaimStatus(claim: ResourceClaim, old: ResourceClaim): FieldError[] {
  const errors = new FieldErrors();
  const { status = {} } = claim;
  const { status: before = {} } = old;
  validateConsumers(errors, 'status.reservedFor', status.reservedFor ?? []);
  validateDevices(errors, 'status.devices', status);
  validateReservation(errors, claim, before);
  if (status.allocation !== undefined && before.allocation !== undefined)
    validateImmutable(errors, 'status.allocation', status.allocation, before.allocation);
  else if (status.allocation !== undefined)
    validateAllocation(errors, 'status.allocation', status.allocation, new RequestNames(claim.spec.devices));
  return errors.list;
}

function validateConsumers(
  errors: FieldErrors,
  field: string,
  consumers: readonly ResourceClaimConsumerReference[],
): void {
  validateItems(errors, field, consumers, MAX_CONSUMERS, ({ resource, name, uid }, path) => {
    if (resource === '') errors.required(`${path}.resource`);
    if (name === '') errors.required(`${path}.name`);
    if (uid === '') errors.required(`${path}.uid`);
  });
  if (consumers.length <= MAX_CONSUMERS) validateUnique(errors, field, consumers, ({ uid }) => uid);
}

function validateReservation(
  errors: FieldErrors,
  { metadata, status: { reservedFor = [], allocation } = {} }: ResourceClaim,
  before: ResourceClaimStatus,
): void {
  if (reservedFor.length === 0) return;
  if (allocation === undefined)
    return errors.forbidden('status.reservedFor', 'may not be specified when `allocated` is not set');
  if (metadata.deletionTimestamp === undefined) return;
  const known = new Set((before.reservedFor ?? []).map(({ uid }) => uid));
  if (reservedFor.some(({ uid }) => !known.has(uid)))
    errors.forbidden(
      'status.reservedFor',
      'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
    );
}

function validateAllocation(
  errors: FieldErrors,
  path: string,
  { devices, nodeSelector }: AllocationResult,
  names: RequestNames,
): void {
  validateItems(errors, `${path}.devices.results`, devices.results ?? [], MAX_RESULTS, (result, at) =>
    validateResult(errors, at, result, names),
  );
  validateItems(errors, `${path}.devices.config`, devices.config ?? [], MAX_CONFIGURATIONS, (config, at) => {
    if ((config.source as string) === '') errors.required(`${at}.source`);
    else errors.oneOf(`${at}.source`, config.source, ['FromClaim', 'FromClass']);
    names.validateReferences(errors, `${at}.requests`, config.requests ?? []);
    validateDeviceConfiguration(errors, at, config);
  });
  if (nodeSelector !== undefined) validateNodeSelector(errors, `${path}.nodeSelector`, nodeSelector);
}

function validateResult(
  errors: FieldErrors,
  path: string,
  result: DeviceRequestAllocationResult,
  names: RequestNames,
): void {
  names.validateReference(errors, `${path}.request`, result.request);
  validateDriverName(errors, `${path}.driver`, result.driver);
  validatePoolName(errors, `${path}.pool`, result.pool);
  validateLabelName(errors, `${path}.device`, result.device);
  validateBindingConditions(errors, path, result.bindingConditions ?? [], result.bindingFailureConditions ?? []);
  validateShareId(errors, `${path}.shareID`, result.shareID);
}

function validateDevices(errors: FieldErrors, field: string, { allocation, devices = [] }: ResourceClaimStatus): void {
  const allocated = new Set((allocation?.devices.results ?? []).map(deviceKey));
  for (const [index, device] of devices.entries())
    validateDeviceStatus(errors, `${field}[${index}]`, device, allocated);
  validateUnique(errors, field, devices, deviceKey);
}

function validateDeviceStatus(
  errors: FieldErrors,
  path: string,
  device: AllocatedDeviceStatus,
  allocated: ReadonlySet<string>,
): void {
  validateDriverName(errors, `${path}.driver`, device.driver);
  validatePoolName(errors, `${path}.pool`, device.pool);
  validateLabelName(errors, `${path}.device`, device.device);
  validateShareId(errors, `${path}.shareID`, device.shareID);
  const key = deviceKey(device);
  if (!allocated.has(key)) errors.invalid(path, key, 'must be an allocated device in the claim');
  if (device.conditions.length > MAX_DEVICE_CONDITIONS)
    errors.tooMany(`${path}.conditions`, device.conditions.length, MAX_DEVICE_CONDITIONS);
  validateConditions(errors, `${path}.conditions`, device.conditions);
  if (device.data !== undefined) validateRawObject(errors, `${path}.data`, device.data, MAX_DATA_BYTES);
  if (device.networkData !== undefined) validateNetworkData(errors, `${path}.networkData`, device.networkData);
}

const NOT_AN_ADDRESS = 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)';

function validateNetworkData(errors: FieldErrors, path: string, data: NetworkDeviceData): void {
  if (byteLength(data.interfaceName ?? '') > MAX_INTERFACE_NAME_BYTES)
    errors.tooLong(`${path}.interfaceName`, MAX_INTERFACE_NAME_BYTES);
  if (byteLength(data.hardwareAddress ?? '') > MAX_HARDWARE_ADDRESS_BYTES)
    errors.tooLong(`${path}.hardwareAddress`, MAX_HARDWARE_ADDRESS_BYTES);
  const { ips = [] } = data;
  validateItems(errors, `${path}.ips`, ips, MAX_ADDRESSES, (address, at) => {
    if (checkStrictCidr(address).length > 0) errors.invalid(at, address, NOT_AN_ADDRESS);
  });
  if (ips.length <= MAX_ADDRESSES) validateUnique(errors, `${path}.ips`, ips, (address) => address);
}
