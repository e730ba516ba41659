import type { NetworkStep } from './kernel-network.ts';
import { ROUTE_PROTOCOL } from './kernel-network.ts';

/**
 * Returns a step as a line for the program's `-batch`. All values were validated before: they are only device names,
 * addresses and numbers.
 */
export function commandOf(step: NetworkStep): { readonly program: 'ip' | 'bridge'; readonly line: string } {
  const { program, words } = wordsOf(step);
  return { program, line: words.join(' ') };
}

function wordsOf(step: NetworkStep): { program: 'ip' | 'bridge'; words: (string | number)[] } {
  const ip = (...words: (string | number)[]) => ({ program: 'ip' as const, words });
  const bridge = (...words: (string | number)[]) => ({ program: 'bridge' as const, words });
  switch (step.kind) {
    case 'createVxlan': {
      const { vni, port, local, via, learning } = step.vxlan;
      const device = ['link', 'add', step.name, 'address', step.mac, 'mtu', step.mtu, 'type', 'vxlan'];
      const how = ['id', vni, 'dev', via, 'local', local, 'dstport', port, learning ? 'learning' : 'nolearning'];
      return ip(...device, ...how);
    }
    case 'deleteLink':
      return ip('link', 'del', step.name);
    case 'setLink':
      return ip('link', 'set', step.name, 'mtu', step.mtu, 'up');
    case 'addAddress':
      return ip(
        ...['address', 'replace', step.address, 'dev', step.device],
        ...(step.address.includes(':') ? ['nodad'] : []),
      );
    case 'deleteAddress':
      return ip('address', 'del', step.address, 'dev', step.device);
    case 'replaceForwarding':
      return bridge('fdb', 'replace', step.mac, 'dev', step.device, 'dst', step.remote, 'self', 'permanent');
    case 'deleteForwarding':
      return bridge('fdb', 'del', step.mac, 'dev', step.device, 'dst', step.remote, 'self');
    case 'replaceNeighbour':
      return ip('neighbour', 'replace', step.ip, 'lladdr', step.mac, 'dev', step.device, 'nud', 'permanent');
    case 'deleteNeighbour':
      return ip('neighbour', 'del', step.ip, 'dev', step.device);
    case 'replaceRoute': {
      const route = ['route', 'replace', step.range, 'via', step.gateway, 'dev', step.device];
      return ip(...route, ...(step.onlink ? ['onlink'] : []), 'proto', ROUTE_PROTOCOL);
    }
    case 'deleteRoute':
      return ip('route', 'del', step.range, 'dev', step.device, 'proto', step.protocol);
  }
}
