import { formatIp, parseSloppyIp } from '../../../base/ip-address.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { serviceCidrs } from '../../../api/client/resource-types.ts';
import { DEFAULT_SERVICE_CIDR_NAME } from '../../../api/networking/service-cidr.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { formatTime } from '../../../api/time.ts';

/** The message of the controller of all ranges, which upstream's cluster finally shows. */
const MESSAGE = 'Kubernetes Service CIDR is ready';

/**
 * The ServiceCIDR that shows the ranges of `--service-cluster-ip-range`, which are ready from the start (upstream:
 * defaultservicecidr controller).
 */
export async function ensureDefaultServiceCidr(
  client: ApiClient,
  ranges: readonly string[],
  nowMs: number,
): Promise<void> {
  const key = { namespace: '', name: DEFAULT_SERVICE_CIDR_NAME };
  const metadata = { ...key, uid: '' };
  try {
    const found = await client.get(serviceCidrs, key).catch((error: unknown) => {
      if (!isApiError(error, 'NotFound')) throw error;
      return client.create(serviceCidrs, { metadata, spec: { cidrs: ranges.map(canonicalRange) } });
    });
    const conditions = found.status?.conditions ?? [];
    if (conditions.some(({ type }) => type === 'Ready')) return;
    const ready = {
      type: 'Ready',
      status: 'True' as const,
      reason: '',
      message: MESSAGE,
      lastTransitionTime: formatTime(nowMs),
    };
    const status = { ...found.status, conditions: [...conditions, ready] };
    await client.update(serviceCidrs, { ...found, status }, { subresource: 'status' });
  } catch (error) {
    // Another server created it first.
    if (!isApiError(error, 'AlreadyExists', 'Conflict')) throw error;
  }
}

/** Returns a range without host bits, as the API requires. The flag may contain some. */
export function canonicalRange(cidr: string): string {
  const [text = '', prefix = ''] = cidr.split('/');
  const bytes = parseSloppyIp(text) ?? new Uint8Array(4);
  const network = bytes.map((byte, index) => byte & (0xff00 >> Math.min(8, Math.max(0, Number(prefix) - 8 * index))));
  return `${formatIp(network)}/${Number(prefix)}`;
}
