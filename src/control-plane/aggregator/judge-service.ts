import { goQuote } from '../../api/go-quote.ts';
import type { APIServiceCondition } from '../../api/apiregistration/api-service.ts';
import type { BackendService } from '../model/api-backends.ts';
import { readyAddresses } from './resolve-service.ts';
import type { ServiceFacts } from './resolve-service.ts';

export type Availability = Pick<APIServiceCondition, 'status' | 'reason' | 'message'>;

const unavailable = (reason: string, message: string): Availability => ({ status: 'False', reason, message });

/**
 * Returns why an API cannot be available according to the cluster's objects; undefined if its server must be checked
 * (upstream: AvailableConditionController.sync).
 */
export function judgeService(
  { namespace, name, port }: BackendService,
  { service, slices }: ServiceFacts,
): Availability | undefined {
  const where = `service/${name} in ${goQuote(namespace)}`;
  if (service === undefined) return unavailable('ServiceNotFound', `${where} is not present`);
  if ((service.spec.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const declared = service.spec.ports?.find((each) => each.port === port);
  if (declared === undefined) return unavailable('ServicePortError', `${where} is not listening on port ${port}`);
  if (slices.length === 0) return unavailable('EndpointsNotFound', `cannot find endpointslices for ${where}`);
  const portName = declared.name ?? '';
  if (readyAddresses(slices, portName).length === 0)
    return unavailable(
      'MissingEndpoints',
      `endpointslices for ${where} have no addresses with port name ${goQuote(portName)}`,
    );
  return undefined;
}

export const passed: Availability = { status: 'True', reason: 'Passed', message: 'all checks passed' };

export const failedCheck = (message: string): Availability => unavailable('FailedDiscoveryCheck', message);
