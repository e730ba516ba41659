import { containsPrefix, parseIpPrefix } from '../../../base/ip-prefix.ts';
import { MAX_EXTRA_BITS } from '../../controllers/node-ipam/cidr-set.ts';
import type { ControlPlaneOptions } from './control-plane-options.ts';
import type { FlagName } from './control-plane-flags.ts';
import type { FlagReader } from './flag-reader.ts';

const defaultLengths = { 32: 24, 128: 64 } as const;

/** Ranges of pod addresses, validated as in kube-controller-manager (upstream: startNodeIpamController). */
export function readNodeRanges(reader: FlagReader): Pick<ControlPlaneOptions, 'nodeRanges'> {
  const cidrs = reader.list('cluster-cidr');
  if (!reader.boolean('allocate-node-cidrs')) return {};
  const complain = (text: string): void => void reader.errors.push(text);
  if (cidrs.length === 0) complain('--allocate-node-cidrs needs --cluster-cidr');
  if (cidrs.length > 2) complain('--cluster-cidr: more than one range of each IP family');
  const isDual = cidrs.length === 2;
  if (isDual && reader.isGiven('node-cidr-mask-size'))
    complain('--node-cidr-mask-size: use --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 with two ranges');
  const clusters = cidrs.flatMap((cidr) => {
    const prefix = parseIpPrefix(cidr);
    if (prefix === undefined) {
      complain(`--cluster-cidr: ${JSON.stringify(cidr)} is not a range such as 10.244.0.0/16`);
      return [];
    }
    const ofFamily = prefix.bits === 32 ? 'node-cidr-mask-size-ipv4' : 'node-cidr-mask-size-ipv6';
    const flag: FlagName = reader.isGiven(ofFamily) || isDual ? ofFamily : 'node-cidr-mask-size';
    const nodeLength = reader.isGiven(flag) ? reader.number(flag, 1, prefix.bits) : defaultLengths[prefix.bits];
    const length = Number(cidr.slice(cidr.indexOf('/') + 1));
    if (nodeLength < length) complain(`--${flag}: ${nodeLength} is less than the prefix length of ${cidr}`);
    else if (nodeLength - length > MAX_EXTRA_BITS)
      complain(`--${flag}: ${nodeLength} is more than ${MAX_EXTRA_BITS} above the prefix length of ${cidr}`);
    return [{ cidr, nodeLength, prefix }];
  });
  const [first, second] = clusters;
  if (first !== undefined && second !== undefined && first.prefix.bits === second.prefix.bits)
    complain('--cluster-cidr: two ranges of one IP family');
  const excluded = reader.list('service-cluster-ip-range');
  const services = excluded.flatMap((range) => parseIpPrefix(range) ?? []);
  if (clusters.some(({ prefix }) => services.some((range) => containsPrefix(range, prefix))))
    complain('--cluster-cidr: no address is left beside --service-cluster-ip-range');
  return { nodeRanges: { clusters: clusters.map(({ cidr, nodeLength }) => ({ cidr, nodeLength })), excluded } };
}
