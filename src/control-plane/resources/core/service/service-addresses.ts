import { keyOf } from '../../../../api/client/resource-type.ts';
import { ipAddresses } from '../../../../api/client/resource-types.ts';
import type { Service } from '../../../../api/core/service.ts';
import type { IPAddress } from '../../../../api/networking/ip-address.ts';
import { belongsTo, newServiceAddress } from '../../../../api/networking/service-address.ts';
import { isApiError } from '../../../../api/status/api-status-error.ts';
import type { AllocationStore } from '../../../model/resource-definition.ts';

/**
 * Creates the IPAddress of a cluster IP, which refers to the service. An IPAddress of another owner means that the
 * address is in use.
 */
export async function recordAddress(ip: string, service: Service, store: AllocationStore): Promise<'used' | undefined> {
  const address = newServiceAddress(ip, service.metadata);
  try {
    await store.objects.create(ipAddresses, address);
    return undefined;
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error;
    const there = await readAddress(address, store);
    // It was deleted meanwhile, so the caller tries the next address.
    return there !== undefined && belongsTo(there, service.metadata) ? undefined : 'used';
  }
}

/** Deletes the IPAddress of a cluster IP that the service no longer has. */
export async function forgetAddress(
  ip: string,
  service: { readonly namespace: string; readonly name: string },
  store: AllocationStore,
): Promise<void> {
  const there = await readAddress(newServiceAddress(ip, service), store);
  if (there === undefined || !belongsTo(there, service)) return;
  const { uid } = there.metadata;
  try {
    await store.objects.delete(ipAddresses, keyOf(there), { preconditions: { uid } });
  } catch (error) {
    if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
  }
}

async function readAddress(address: IPAddress, { objects }: AllocationStore): Promise<IPAddress | undefined> {
  try {
    return await objects.get(ipAddresses, keyOf(address));
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined;
    throw error;
  }
}
