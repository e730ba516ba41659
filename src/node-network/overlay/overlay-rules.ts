import type { Ruleset } from '../service-routing/ruleset.ts';

/**
 * Returns the packet filter rules of pods in one IP family. Pods reach each other with their own addresses and other
 * hosts with the node's, and the node forwards their packets whatever the policy of another program is. `serviceCidr`
 * is left to service routing, which rejects unassigned addresses.
 */
export function overlayRules(
  chainPrefix: string,
  { network, ownRange, serviceCidr }: { network: string; ownRange: string; serviceCidr: string | undefined },
): Ruleset {
  const [masquerade, forward] = [`${chainPrefix}-POSTROUTING`, `${chainPrefix}-ADMIT`];
  return {
    nat: {
      chains: new Map([
        [
          masquerade,
          [
            `-s ${network} -d ${network} -j RETURN`,
            `-s ${network} ! -d ${network.includes(':') ? 'ff00::/8' : '224.0.0.0/4'} -j MASQUERADE --random-fully`,
            `! -s ${network} -d ${ownRange} -j RETURN`,
            // The answers of another node's pod come back this way only if the request has an address of this node.
            `! -s ${network} -d ${network} -j MASQUERADE --random-fully`,
          ],
        ],
      ]),
      jumps: [{ from: 'POSTROUTING', to: masquerade }],
    },
    filter: {
      chains: new Map([
        [
          forward,
          [
            ...(serviceCidr === undefined ? [] : [`-d ${serviceCidr} -j RETURN`]),
            `-s ${network} -j ACCEPT`,
            `-d ${network} -j ACCEPT`,
          ],
        ],
      ]),
      jumps: [{ from: 'FORWARD', to: forward }],
    },
  };
}
